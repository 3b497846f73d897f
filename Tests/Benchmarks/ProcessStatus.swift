private import Glibc
private import WakeSystem

/// A process's memory as the kernel counts it (`/proc/PID/status`, proc(5)); bytes.
struct ProcessStatus {
    /// Resident: anonymous memory, mapped files and shared memory.
    let resident: Int
    /// The largest `resident` since the process began.
    let peak: Int
    /// The anonymous part: heap and stacks.
    let anonymous: Int

    /// - Parameter process: nil for this one.
    init?(of process: Int? = nil) {
        let path = "/proc/\(process.map(String.init) ?? "self")/status"
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try OpenFile(path, flags: O_RDONLY).read(at: 0, count: 16_384)
        } catch {
            return nil
        }
        var values: [Substring: Int] = [:]
        let text = String(decoding: bytes, as: UTF8.self)
        for line in text.split(separator: "\n") {
            let words = line.split { $0 == " " || $0 == "\t" }
            guard words.count == 3, words[2] == "kB", let value = Int(words[1]) else { continue }
            values[words[0].dropLast()] = value * 1024
        }
        guard let resident = values["VmRSS"], let peak = values["VmHWM"],
            let anonymous = values["RssAnon"]
        else { return nil }
        self.resident = resident
        self.peak = peak
        self.anonymous = anonymous
    }
}
