private import Glibc
import WakeSodium
import WakeSystem

/// The audited file, read page by page and never mapped: it may be cut short meanwhile.
struct PageFile {
    let file: OpenFile
    /// Bytes of the file, and of a page.
    let size: Int
    let pageSize: Int

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

    /// Adds the whole file; `progress` is called with the share done, in thousandths.
    func hash(into hash: inout SHA256, _ progress: (Int) -> Void) throws(AuditFailure) {
        var offset = 0
        while true {
            let bytes = try read(at: offset, count: 1 << 20)
            if bytes.isEmpty { return }
            hash.update(bytes.span)
            offset += bytes.count
            progress(offset / (size / 1000 + 1))
        }
    }
}

extension OpenFile {
    /// Whether another process holds SQLite's exclusive lock on this database, as the service does
    /// while it runs. Asks only: no lock is taken, and none is dropped (fcntl(2), `F_GETLK`).
    var isHeldExclusively: Bool {
        // sqlite.org/lockingv3.html §3: 510 bytes that readers lock one of.
        var lock = flock()
        lock.l_type = Int16(F_RDLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = 0x4000_0002
        lock.l_len = 510
        guard unsafe fcntl(descriptor, F_GETLK, &lock) == 0 else { return false }
        return lock.l_type != Int16(F_UNLCK)
    }
}
