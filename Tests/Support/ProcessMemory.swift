import Foundation
import Glibc

/// What the kernel says about the memory of this process.
package enum ProcessMemory {
    /// Bytes of anonymous resident memory (`RssAnon` of proc(5)); nil when it cannot be read.
    package static func anonymousBytes() -> Int? {
        guard let status = read("/proc/self/status") else { return nil }
        for line in status.split(separator: "\n") where line.hasPrefix("RssAnon:") {
            return line.split(separator: " ").compactMap { Int($0) }.first.map { $0 * 1_024 }
                ?? line.split { $0 == " " || $0 == "\t" }.compactMap { Int($0) }.first.map {
                    $0 * 1_024
                }
        }
        return nil
    }

    /// The most memory the process ever had resident, in bytes (`VmHWM` of proc(5)); nil when it
    /// is gone.
    package static func peakBytes(of process: Int32) -> Int? {
        guard let status = read("/proc/\(process)/status") else { return nil }
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split { $0 == " " || $0 == "\t" }.compactMap { Int($0) }.first.map {
            $0 * 1_024
        }
    }

    /// Raises the limit of open files to `count` if allowed; returns the limit now in force.
    package static func raiseOpenFiles(to count: Int) -> Int {
        var limit = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        if limit.rlim_cur < count {
            var wanted = rlimit(
                rlim_cur: rlim_t(count), rlim_max: max(limit.rlim_max, rlim_t(count)))
            if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted) != 0 {
                wanted = rlimit(rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max)
                unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted)
            }
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        return Int(limit.rlim_cur)
    }

    /// How many of the patterns are anywhere in the writable memory of a process (proc(5)); nil
    /// when it cannot be read.
    package static func hits(_ patterns: [[UInt8]], of process: Int32) -> Int? {
        guard let maps = try? String(contentsOfFile: "/proc/\(process)/maps", encoding: .utf8)
        else { return nil }
        let memory = unsafe open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { return nil }
        defer { close(memory) }
        var found: Set<Int> = []
        for line in maps.split(separator: "\n") {
            let words = line.split(separator: " ")
            let ends = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            guard words[1].hasPrefix("rw"), ends.count == 2 else { continue }
            var bytes = [UInt8](repeating: 0, count: ends[1] - ends[0])
            // Fenced pages cannot be read.
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe pread(memory, $0.baseAddress, $0.count, ends[0])
            }
            guard count > 0 else { continue }
            for index in patterns.indices where !found.contains(index) {
                if bytes.holds(patterns[index]) { found.insert(index) }
            }
        }
        return found.count
    }

    private static func read(_ path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = unsafe buffer.withUnsafeMutableBytes {
            unsafe Glibc.read(descriptor, $0.baseAddress, $0.count)
        }
        guard count > 0 else { return nil }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
