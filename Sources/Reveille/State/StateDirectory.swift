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
        try Self.checkFiles(["lock"], in: path)
        lock = try mapError(ClientError.init) { () throws(FileError) in
            let lock = try OpenFile(path + "/lock", flags: O_RDWR | O_CREAT)
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
        try checkFiles(["client.db", "client.db-wal", "client.db-shm", "lock"], in: directory)
        return directory + "/client.db"
    }

    private static func checkFiles(
        _ names: [String], in directory: String
    ) throws(ClientError) {
        for path in names.map({ "\(directory)/\($0)" }) where Files.exists(path) {
            try check(path, isDirectory: false)
        }
    }

    private static func check(_ path: String, isDirectory: Bool) throws(ClientError) {
        let status = try mapError(ClientError.init) { () throws(FileError) in
            try isDirectory ? FileStatus(ofDirectory: path) : FileStatus(of: path)
        }
        guard isDirectory ? status.isDirectory : status.isRegular else {
            throw .state(status.isLink ? .exposed : .unusable(isDirectory ? ENOTDIR : EISDIR))
        }
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
