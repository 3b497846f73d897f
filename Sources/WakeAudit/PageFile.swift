private import Glibc
import WakeFiles
import WakeSodium

/// The audited file, read page by page and never mapped: it may be cut short meanwhile.
struct PageFile {
    private let file: OpenFile
    let pageSize: Int
    let size: Int

    init(_ file: OpenFile, size: Int, pageSize: Int) {
        self.file = file
        self.size = size
        self.pageSize = pageSize
    }

    /// Whole pages.
    var pageCount: UInt32 { UInt32(clamping: size / pageSize) }

    /// The file keeps the page of SQLite's lock bytes for them, once it is that long
    /// (sqlite.org/fileformat2.html §1.4).
    var lockPage: UInt32 { UInt32(0x4000_0000 / pageSize) + 1 }

    /// - Parameter number: from 1 to `pageCount`.
    func page(_ number: UInt32) throws(AuditFailure) -> [UInt8] {
        let bytes = try read(at: (Int(number) - 1) * pageSize, count: pageSize)
        // Cut short since its size was asked for.
        guard bytes.count == pageSize else { throw .changing }
        return bytes
    }

    func read(at offset: Int, count: Int) throws(AuditFailure) -> [UInt8] {
        do throws(FileError) {
            return try file.read(at: offset, count: count)
        } catch {
            throw .file(error)
        }
    }

    /// SHA-256 of the whole file.
    /// - Parameter progress: called with the share done, in thousandths.
    func hash(_ progress: (Int) -> Void) throws(AuditFailure) -> [UInt8] {
        var hash = SHA256()
        var offset = 0
        while true {
            let bytes = try read(at: offset, count: 1 << 20)
            if bytes.isEmpty { return hash.finish() }
            hash.update(bytes.span)
            offset += bytes.count
            progress(offset / (size / 1000 + 1))
        }
    }
}
