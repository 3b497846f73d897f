private import Glibc
import TestSupport

/// Wall and CPU time of a stretch of this process.
struct Stopwatch {
    private let wall = Stopwatch.monotonic()
    private let cpu = Stopwatch.clock(CLOCK_PROCESS_CPUTIME_ID)

    /// Seconds since the start.
    var seconds: Double { Double(Self.monotonic() - wall) / 1e9 }
    /// CPU seconds of the whole process since the start.
    var processorSeconds: Double { Self.clock(CLOCK_PROCESS_CPUTIME_ID) - cpu }

    /// Nanoseconds of the monotonic clock.
    static func monotonic() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// CPU seconds of the calling thread so far.
    static var threadSeconds: Double { clock(CLOCK_THREAD_CPUTIME_ID) }

    /// CPU seconds another process has used so far, threads that have ended included.
    static func processorSeconds(of process: Int) -> Double? {
        var identifier = clockid_t()
        guard unsafe clock_getcpuclockid(pid_t(process), &identifier) == 0 else { return nil }
        return clock(identifier)
    }

    private static func clock(_ identifier: clockid_t) -> Double {
        var time = timespec()
        unsafe clock_gettime(identifier, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// What one arm of a comparison did in one round.
struct Measurement {
    var operations: Int
    var seconds: Double
    /// Of the process that does the work, nil when it cannot be known.
    var processorSeconds: Double?
    /// Nanoseconds of each operation; empty where it has no meaning.
    var latencies = Histogram()
    var failures = 0
    /// Of one operation, where it is about memory or disk.
    var bytes: Double?
    /// The most that was resident of the process, bytes.
    var memory: Int?

    var rate: Double { Double(operations) / seconds }

    /// CPU of an operation.
    var microseconds: Double? {
        processorSeconds.map { $0 / Double(max(operations, 1)) * 1e6 }
    }

    /// The sum of stretches of work that follow each other.
    static func + (left: Measurement, right: Measurement) -> Measurement {
        var sum = left
        sum.seconds += right.seconds
        sum.processorSeconds = left.processorSeconds.flatMap { processor in
            right.processorSeconds.map { $0 + processor }
        }
        sum.failures += right.failures
        return sum
    }
}

extension Measurement {
    /// As a process that was started for one measurement says it, on one line.
    var report: String { "measured \(operations) \(seconds) \(processorSeconds ?? 0)" }

    /// Runs a program that ends with a `report`.
    /// - Throws: when it says something else, or fails.
    init(reportOf words: [String]) throws {
        guard let process = MeasuredProcess(words) else {
            throw BenchFailure("\(words[0]) cannot be started")
        }
        let line = process.line(beginning: "measured ")
        let end = process.end()
        let numbers = line?.split(separator: " ").dropFirst().compactMap { Double($0) } ?? []
        guard end.isSuccess, numbers.count == 3 else {
            throw BenchFailure("\(words.prefix(2).joined(separator: " ")) failed")
        }
        self.init(
            operations: Int(numbers[0]), seconds: numbers[1], processorSeconds: numbers[2])
        memory = end.peak
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
