private import Glibc
import WakeSystem

/// Keeps an audit from reading a file while the log is copied into it. An audit that reads holds a
/// lock (flock(2)), for which the copy waits, but not for longer than an audit may read; one that
/// holds it longer is hardly waited for again until it has given it back. A mark (fcntl(2), a
/// locked byte) says to audits that a copy waits or is at work, lock or not: none begins to read
/// then.
struct AuditLock {
    private let file: OpenFile
    private var isOverdue = false

    /// The longest wait, for each of two files in a row: so a client waits for less than a quarter
    /// of a second. And the shortest: longer than the steps of a file's time, by which an audit
    /// sees that the file was written to all the same.
    private static let longest: UInt64 = 110_000_000
    private static let shortest: UInt64 = 20_000_000
    /// The first byte behind those that SQLite locks (sqlite.org/lockingv3.html §3).
    private static let markOffset = 0x4000_0200

    init(_ file: OpenFile) { self.file = file }

    mutating func take() {
        mark(F_WRLCK)
        let end = SystemClock.monotonicNanoseconds + (isOverdue ? Self.shortest : Self.longest)
        while true {
            do throws(FileError) {
                try file.lockExclusively()
                return isOverdue = false
            } catch {
                isOverdue = SystemClock.monotonicNanoseconds >= end
                // There are file systems without such locks.
                guard !isOverdue, error.number == EWOULDBLOCK else { return }
            }
            SystemClock.sleep(until: SystemClock.monotonicNanoseconds + 1_000_000)
        }
    }

    func release() {
        file.unlock()
        mark(F_UNLCK)
    }

    private func mark(_ type: Int32) {
        var lock = flock()
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = Self.markOffset
        lock.l_len = 1
        _ = unsafe fcntl(file.descriptor, F_SETLK, &lock)
    }
}
