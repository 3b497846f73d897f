private import Glibc
import WakeModel
import WakeSystem

/// An audited file, read page by page and never mapped, in windows: while one lasts, the service
/// that holds the file copies nothing of its log into it, and what was read is one state of it.
/// A window in which the file changed all the same is repeated.
final class PageFile {
    let pageSize: Int
    /// Pages that a window reads, about: what they hold is looked at behind it.
    let pagesAtOnce: Int
    /// Whether a service holds the file.
    private let isHeld: Bool
    private let file: OpenFile
    private var identity: FileStatus.Identity?
    private var windowEnd = UInt64.max
    private var gapEnd: UInt64 = 0
    /// Bytes of the file in the window.
    private(set) var size = 0
    /// Counts what the file has become; it stays the same while nothing is written.
    private(set) var state: UInt32 = 0

    init(_ file: OpenFile, pageSize: Int, pagesAtOnce: Int, isHeld: Bool) {
        (self.file, self.pageSize, self.pagesAtOnce) = (file, pageSize, pagesAtOnce)
        self.isHeld = isHeld
    }

    /// Whole pages.
    var pageCount: UInt32 { UInt32(clamping: size / pageSize) }

    /// The page that a file so long keeps for SQLite's locks (sqlite.org/fileformat2.html §1.4).
    var lockPage: UInt32 { UInt32(0x4000_0000 / pageSize) + 1 }

    /// - Parameter number: from 1 to `pageCount`.
    func page(_ number: UInt32) throws(AuditFailure) -> [UInt8] {
        let bytes = try read(at: (Int(number) - 1) * pageSize, count: pageSize)
        // Cut short since its size was asked for.
        guard bytes.count == pageSize else { throw .changing }
        return bytes
    }

    func read(at offset: Int, count: Int) throws(AuditFailure) -> [UInt8] {
        try mapError(AuditFailure.file, file.read(at: offset, count: count))
    }

    /// The header, and a hash of the whole file; `progress` is called with the share done, in
    /// thousandths.
    func hash(into hash: inout SHA256Stream, _ progress: (Int) -> Void) throws(AuditFailure) {
        let size = try mapError(AuditFailure.file, file.status()).size
        var offset = 0
        while true {
            let bytes = try read(at: offset, count: 1 << 20)
            if bytes.isEmpty { return }
            hash.update(bytes.span)
            offset += bytes.count
            progress(min(1000, offset / (size / 1000 + 1)))
        }
    }

    // MARK: Windows

    /// In nanoseconds: how long a window reads, how long the service has in between, and how long
    /// it, or another audit, is waited for.
    private static let windowTime: UInt64 = 60_000_000
    private static let gapTime: UInt64 = 10_000_000
    private static let patience: UInt64 = 5_000_000_000
    private static let attempts = 100

    /// Whether the window has lasted long enough.
    var isWindowOver: Bool { isHeld && SystemClock.monotonicNanoseconds >= windowEnd }

    /// - Parameter read: changes nothing but what it returns: it is called again where the file
    /// - Throws: `changing` when the file never rests, or its service came or ended.
    func window<Result>(
        _ read: () throws(AuditFailure) -> Result
    ) throws(AuditFailure) -> Result {
        for _ in 0..<Self.attempts {
            if let result = try attempt(read) { return result }
        }
        throw .changing
    }

    private func attempt<Result>(
        _ read: () throws(AuditFailure) -> Result
    ) throws(AuditFailure) -> Result? {
        guard isHeld else { return try readAtRest(read) }
        try lock()
        defer {
            file.unlock()
            gapEnd = SystemClock.monotonicNanoseconds + Self.gapTime
        }
        guard isStillHeld else { throw .changing }
        let result = try readAtRest(read)
        guard isStillHeld else { throw .changing }
        return result
    }

    private func readAtRest<Result>(
        _ read: () throws(AuditFailure) -> Result
    ) throws(AuditFailure) -> Result? {
        let before = try status()
        if identity != before { (identity, state) = (before, state + 1) }
        windowEnd = SystemClock.monotonicNanoseconds + Self.windowTime
        let result: Result
        do throws(AuditFailure) {
            result = try read()
        } catch {
            guard error == .changing else { throw error }
            return nil
        }
        return try status() == before ? result : nil
    }

    /// Whether nothing was written since the first window.
    func isUnchanged() throws(AuditFailure) -> Bool {
        guard state <= 1 else { return false }
        return try status() == identity
    }

    private var isStillHeld: Bool { file.isHeldExclusively == isHeld }

    /// Whether the service waits to copy a log, or copies it: without the lock, once it has waited
    /// for a tenth of a second.
    private var isWritten: Bool { file.isLocked(at: 0x4000_0200, count: 1) }

    private func status() throws(AuditFailure) -> FileStatus.Identity {
        let status = try mapError(AuditFailure.file, file.status())
        size = status.size
        return status.identity
    }

    /// The lock that the service takes while it copies (flock(2)). Where it is taken and the
    /// service does not even wait, the file is at rest, and whatever is written in the next tenth
    /// of a second is written behind the lock.
    private func lock() throws(AuditFailure) {
        SystemClock.sleep(until: gapEnd)
        let end = SystemClock.monotonicNanoseconds + Self.patience
        while true {
            do throws(FileError) {
                try file.lockExclusively()
                guard isWritten else { return }
                file.unlock()
            } catch {
                guard error.number == EWOULDBLOCK else { throw .file(error) }
            }
            guard SystemClock.monotonicNanoseconds < end else { throw .changing }
            SystemClock.sleep(until: SystemClock.monotonicNanoseconds + 1_000_000)
        }
    }
}

extension OpenFile {
    /// Whether another process holds SQLite's exclusive lock on this database, as the service does
    /// while it runs. Asks only: no lock is taken, and none is dropped (fcntl(2), `F_GETLK`).
    var isHeldExclusively: Bool {
        // sqlite.org/lockingv3.html §3: 510 bytes that readers lock one of.
        isLocked(at: 0x4000_0002, count: 510)
    }

    fileprivate func isLocked(at offset: Int, count: Int) -> Bool {
        var lock = flock()
        lock.l_type = Int16(F_RDLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = offset
        lock.l_len = count
        guard unsafe fcntl(descriptor, F_GETLK, &lock) == 0 else { return false }
        return lock.l_type != Int16(F_UNLCK)
    }
}
