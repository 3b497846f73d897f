package import Glibc

/// The status of a file (stat(2)).
package struct FileStatus: Sendable {
    package let size: Int
    /// Bytes that it takes on the disk; fewer than `size` where it has holes.
    package let allocated: Int
    package let owner: uid_t
    package let group: gid_t
    /// Permission bits only.
    package let mode: mode_t
    /// Names that the file has; more than one are hard links.
    package let links: Int
    package let isDirectory: Bool
    package let isRegular: Bool
    package let isLink: Bool
    /// Seconds since 1970.
    package let modified: Int
    /// Differs whenever the path was replaced or written since.
    package let identity: Identity

    package struct Identity: Sendable, Equatable {
        let device: dev_t
        let inode: ino_t
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    init(_ status: stat) {
        size = status.st_size
        // In units of 512 bytes whatever the file system (stat(3type)).
        allocated = Int(status.st_blocks) * 512
        owner = status.st_uid
        group = status.st_gid
        mode = status.st_mode & 0o7777
        links = Int(clamping: status.st_nlink)
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
        isRegular = status.st_mode & S_IFMT == S_IFREG
        isLink = status.st_mode & S_IFMT == S_IFLNK
        modified = status.st_mtim.tv_sec
        identity = Identity(
            device: status.st_dev, inode: status.st_ino, size: status.st_size,
            seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    }

    /// The status of the path itself: symbolic links are not followed.
    package init(of path: String) throws(FileError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw FileError(.status) }
        self.init(status)
    }

    /// The status of a directory, also behind a link in its place, which a user makes to have it on
    /// another disk. A link that belongs to another user stays what it is: a link.
    package init(ofDirectory path: String) throws(FileError) {
        let status = try FileStatus(of: path)
        guard status.isLink, [0, geteuid()].contains(status.owner) else {
            self = status
            return
        }
        var target = stat()
        guard unsafe stat(path, &target) == 0 else { throw FileError(.status) }
        self.init(target)
    }

    /// Whether both files are on one file system (stat(2), `st_dev`).
    package func isOnDisk(of other: FileStatus) -> Bool { identity.device == other.identity.device }

    /// It belongs to this process's user.
    package var isOwn: Bool { owner == geteuid() }

    /// True when nobody but this process's user can read or write it.
    package var isPrivate: Bool {
        let isClosed = mode & 0o077 == 0 || Files.overlooksGroup && isOpenToGroup
        return isClosed && owner == geteuid() && !isLink
    }
}
