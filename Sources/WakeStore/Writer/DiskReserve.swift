private import Glibc
import WakeModel
import WakeSystem

/// Disk room for what must work on a full disk: deletes, new keys, a smaller file. While it is
/// incomplete the database does not grow.
final class DiskReserve {
    private let path: String
    private let directory: String
    private let count: Int
    /// Kept open: to fill it up needs no descriptor.
    private var file: OpenFile?
    private(set) var held = 0
    /// The file could not be changed, for another reason than room.
    private(set) var isFailing = false

    /// Less than this is not worth a file.
    private static let leastBytes = 1 << 16
    private static let pieceBytes = 1 << 18

    /// Takes over what an earlier start left; changes nothing.
    init(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        path = configuration.reserveFile
        directory = Files.parent(of: path) ?? "."
        count = configuration.reserveBytes
        guard let status = try? FileStatus(of: path) else { return }
        guard status.isRegular else { throw .wrongKind(.reserve) }
        file = try mapError({ StoreOpenError(.reserve, $0) }, OpenFile(path, flags: O_RDWR))
        held = min(status.size, status.allocated)
    }

    var isComplete: Bool { held >= count }

    /// Left to files beside the database: the checkpoint of a broadcast, records, keys.
    private var spareBytes: Int { count / 8 }

    /// Allocates what is missing, or what the disk has.
    /// - Returns: whether the reserve is complete and the disk has some room besides.
    func fill() -> Bool {
        if held > count { _ = resize(count) }
        let free = (try? Files.freeBytes(at: directory)) ?? .max
        var missing = min(count - held, free - spareBytes)
        while !isComplete, missing >= min(Self.leastBytes, count - held) {
            if resize(held + missing) { break }
            missing /= 2
        }
        return isComplete && free >= spareBytes
    }

    func release(_ bytes: Int) {
        guard held > 0 else { return }
        _ = resize(bytes < held - Self.leastBytes ? held - bytes : 0)
    }

    /// Gives another file room behind `offset`, its size unchanged, as long as there is any;
    /// nothing to a file on another disk. What this releases is anybody's between two system calls:
    /// in small pieces, so that another process gets a part of one, and what it leaves is taken.
    /// - Parameter least: bytes that this keeps.
    func lend(_ bytes: Int, to file: OpenFile, behind offset: Int, keeping least: Int = 0) {
        guard isBeside(file) else { return }
        var (given, piece) = (0, Self.pieceBytes)
        // Whether anything was released since the last success, and whether others took of it.
        var (isReleased, isContended) = (false, false)
        while given < bytes {
            piece = min(piece, bytes - given)
            do throws(FileError) {
                try file.allocateBehind(offset + given, piece)
                given += piece
                isReleased = false
            } catch {
                // Where files cannot have such room (EOPNOTSUPP) it is on the disk at least.
                guard error.isFull else { return release(bytes - given) }
                if isReleased { isContended = true }
                if isReleased, piece > Limits.pageBytes {
                    piece = max(Limits.pageBytes, piece / 4)
                } else {
                    guard held > least else { return }
                    release(isContended ? Self.leastBytes : max(piece, Limits.pageBytes))
                    if isContended { piece = Self.leastBytes / 4 }
                    isReleased = true
                }
            }
        }
    }

    private func isBeside(_ other: OpenFile) -> Bool {
        guard let file, let status = try? file.status(), let other = try? other.status()
        else { return true }
        return status.isOnDisk(of: other)
    }

    /// - Returns: false, with the size unchanged, when there is no room.
    private func resize(_ size: Int) -> Bool {
        do throws(FileError) {
            let file = try opened()
            do throws(FileError) {
                if size > held { try file.allocate(size) }
            } catch {
                // A part may have been allocated all the same (posix_fallocate(3)).
                try file.truncate(to: held)
                throw error
            }
            try file.truncate(to: size)
            held = size
            isFailing = false
            return true
        } catch {
            isFailing = !error.isFull
            return false
        }
    }

    private func opened() throws(FileError) -> OpenFile {
        if let file { return file }
        let file = try OpenFile(path, flags: O_RDWR | O_CREAT)
        guard fchmod(file.descriptor, 0o600) == 0 else { throw FileError(.open) }
        self.file = file
        return file
    }
}

/// The write-ahead log while it has room of the reserve's. It is emptied by overwriting: truncating
/// it would give the room to the first process that asks.
struct LentLog {
    private let file: OpenFile

    /// Longer than any frame: where so much is zero no frame begins, and none follows.
    private static let chunkBytes = 1 << 16
    private static let headerBytes = 32

    /// - Parameter file: the log, opened for reading and writing.
    init(_ file: OpenFile) { self.file = file }

    /// Overwrites everything, durably; all of it must be in the database. The header first: without
    /// it nothing behind it is read back, whatever a power cut leaves (fileformat2.html §4.1).
    func erase() throws(FileError) {
        let zeros = [UInt8](repeating: 0, count: Self.chunkBytes)
        var offset = 0
        while true {
            var chunk = try file.read(at: offset, count: Self.chunkBytes)
            defer { chunk.wipe() }
            guard !chunk.span.isZero(0..<chunk.count) else { break }
            if offset == 0 {
                try file.write(zeros.span.extracting(0..<Self.headerBytes), at: 0)
                try file.synchronize()
            }
            try file.write(zeros.span.extracting(0..<chunk.count), at: offset)
            offset += chunk.count
        }
        if offset > 0 { try file.synchronize() }
    }
}
