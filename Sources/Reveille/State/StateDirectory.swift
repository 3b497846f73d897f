private import Glibc
import WakeSystem

/// The directory of one profile: private to its user, and held by one process at a time.
struct StateDirectory: Sendable {
    let path: String
    /// Held for as long as this value lives.
    private let lock: OpenFile

    /// - Throws: `.locked` by another process, `.state(.exposed)` when others could reach it.
    init(_ path: String) throws(ClientError) {
        try Self.prepare(path)
        self.path = path
        lock = try mapError(ClientError.init) { () throws(FileError) in
            let lock = try OpenFile(path + "/lock", flags: O_RDWR | O_CREAT)
            guard try lock.status().isPrivate else { throw FileError(.status, EPERM) }
            try lock.lockExclusively()
            return lock
        }
    }

    /// Makes the directory, or checks the one that is there.
    static func prepare(_ path: String) throws(ClientError) {
        try mapError(ClientError.init) { () throws(FileError) in
            if !Files.exists(path) { try Files.makeDirectory(path) }
        }
        try check(path, isDirectory: true)
    }

    /// The path of the profile's database; `.state(.exposed)` when others can reach its files.
    static func checkedDatabase(in directory: String) throws(ClientError) -> String {
        let path = directory + "/client.db"
        for suffix in ["", "-wal", "-shm"] where Files.exists(path + suffix) {
            try check(path + suffix, isDirectory: false)
        }
        return path
    }

    private static func check(_ path: String, isDirectory: Bool) throws(ClientError) {
        let status = try mapError(ClientError.init) { () throws(FileError) in
            try isDirectory ? FileStatus(ofDirectory: path) : FileStatus(of: path)
        }
        guard isDirectory ? status.isDirectory : status.isRegular else { throw .state(.exposed) }
        guard status.isOwn else { throw .state(.foreign) }
        guard status.isPrivate else { throw .state(.exposed) }
    }
}

extension ClientError {
    fileprivate init(_ error: FileError) {
        switch error.number {
        case _ where error.isLocked: self = .locked
        case _ where error.isFull: self = .diskFull
        // ELOOP: open(2) with O_NOFOLLOW met a symbolic link.
        case EPERM, ELOOP: self = .state(.exposed)
        case let number: self = .state(.unusable(number))
        }
    }
}
