private import Glibc

/// Wall and CPU time of a stretch of this process.
struct Stopwatch {
    private let wall = Stopwatch.monotonic()
    private let cpu = Stopwatch.processor()

    /// Seconds since the start.
    var seconds: Double { Double(Self.monotonic() - wall) / 1e9 }
    /// CPU seconds of the whole process since the start.
    var processorSeconds: Double { Self.processor() - cpu }

    /// Nanoseconds of the monotonic clock.
    static func monotonic() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    private static func processor() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// CPU seconds another process has used so far, from `/proc` (proc(5), fields 14 and 15).
    static func processorSeconds(of process: Int) -> Double? {
        let descriptor = unsafe open("/proc/\(process)/stat", O_RDONLY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = max(0, unsafe read(descriptor, buffer.baseAddress, buffer.count))
        }
        // The name in parentheses may hold spaces; everything after it is plain.
        guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = bytes[(end + 2)...].split(separator: UInt8(ascii: " "))
        guard fields.count > 12, let user = Double(String(decoding: fields[11], as: UTF8.self)),
            let system = Double(String(decoding: fields[12], as: UTF8.self))
        else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

/// What one arm of a comparison did in one round.
struct Measurement {
    var operations: Int
    var seconds: Double
    /// Of the process that does the work, nil when it cannot be known.
    var processorSeconds: Double?
    /// Nanoseconds, one per operation; empty where it has no meaning.
    var latencies: [UInt64] = []
    var failures = 0

    var rate: Double { Double(operations) / seconds }

    var line: String {
        var line = "\(Int(rate))/s"
        if let processorSeconds {
            line += ", \(microseconds(processorSeconds / Double(operations))) us CPU each"
        }
        if !latencies.isEmpty {
            let sorted = latencies.sorted()
            line += ", p50 \(milliseconds(sorted[sorted.count / 2]))"
            line += " ms, p99 \(milliseconds(sorted[sorted.count * 99 / 100])) ms"
        }
        if failures > 0 { line += ", \(failures) FAILED" }
        return line
    }

    private func microseconds(_ seconds: Double) -> String {
        tenths(seconds * 1e6)
    }

    private func milliseconds(_ nanoseconds: UInt64) -> String {
        let hundredths = Int(Double(nanoseconds) / 1e4)
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}

/// A number of 0 or more with one decimal place.
func tenths(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
}

/// The same with two.
func hundredths(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
}

/// The middle value; of an even number the lower of the two.
func median(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.sorted()[(values.count - 1) / 2]
}
