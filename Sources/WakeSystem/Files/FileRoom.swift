private import CLinux
private import Glibc

// Room on the disk: what a file has, and what is left for others. A file that has room is written
// to whatever else is on the disk; no system call hands room from one file to another, so what one
// gives up is anybody's until another has taken it.

extension OpenFile {
    package func truncate(to count: Int) throws(FileError) {
        guard ftruncate(descriptor, count) == 0 else { throw FileError(.truncate) }
    }

    /// Makes sure that writes to the first `count` bytes need no further room (posix_fallocate(3)).
    package func allocate(_ count: Int) throws(FileError) {
        let number = posix_fallocate(descriptor, 0, count)
        guard number == 0 else { throw FileError(.write, number) }
    }

    /// Makes sure that the file can grow by `count` bytes from `offset` on. Its size stays; to
    /// truncate it gives the room back (fallocate(2), "FALLOC_FL_KEEP_SIZE").
    /// - Throws: `EOPNOTSUPP` on file systems whose files have no such room.
    package func allocateBehind(_ offset: Int, _ count: Int) throws(FileError) {
        let result = linux_allocate_behind(descriptor, Int64(offset), Int64(count))
        guard result == 0 else { throw FileError(.write, -result) }
    }

    /// Gives the room of a range back, which reads as zeros from then on; the size stays
    /// (fallocate(2), "FALLOC_FL_PUNCH_HOLE").
    package func releaseRoom(_ offset: Int, _ count: Int) throws(FileError) {
        let result = linux_release_room(descriptor, Int64(offset), Int64(count))
        guard result == 0 else { throw FileError(.truncate, -result) }
    }
}

extension FileError {
    /// The disk or the quota is full.
    package var isFull: Bool { number == ENOSPC || number == EDQUOT }
}

extension Files {
    /// Bytes that this user may still write to the file system of `path` (statvfs(3)); 0 where no
    /// file can be made for want of an inode.
    package static func freeBytes(at path: String) throws(FileError) -> Int {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { throw FileError(.status) }
        if status.f_files > 0, status.f_favail == 0 { return 0 }
        return Int(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
    }
}
