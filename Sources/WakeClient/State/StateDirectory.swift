private import Glibc
import WakeFiles

/// The directory of one profile: private to its user, and held by one process at a time.
struct StateDirectory: Sendable {
    let path: String
    /// Held for as long as this value lives.
    private let lock: OpenFile

    /// - Throws: `.locked` when another process holds it, `.state(.exposed)` when others could
    ///   read or change it.
    init(_ path: String) throws(ClientError) {
        try Self.prepare(path)
        self.path = path
        do throws(FileError) {
            let lock = try OpenFile(path + "/lock", flags: O_RDWR | O_CREAT)
            guard try lock.status().isPrivate else { throw FileError(.status, EPERM) }
            try lock.lockExclusively()
            self.lock = lock
        } catch {
            throw Self.clientError(error)
        }
    }

    /// Makes the directory, or checks the one that is there.
    static func prepare(_ path: String) throws(ClientError) {
        do throws(FileError) {
            // lstat(2) first: mkdir(2) of an existing link would accept what it points to.
            if Files.exists(path) {
                try check(path, isDirectory: true)
            } else {
                try Files.makeDirectory(path)
                try check(path, isDirectory: true)
            }
        } catch {
            throw clientError(error)
        }
    }

    /// Refuses a file of the profile that others can reach; one that is missing is fine.
    static func checkFile(_ path: String) throws(ClientError) {
        do throws(FileError) {
            guard Files.exists(path) else { return }
            try check(path, isDirectory: false)
        } catch {
            throw clientError(error)
        }
    }

    private static func check(_ path: String, isDirectory: Bool) throws(FileError) {
        let status = try FileStatus(of: path)
        guard status.isPrivate, isDirectory ? status.isDirectory : status.isRegular else {
            throw FileError(.status, EPERM)
        }
    }

    static func clientError(_ error: FileError) -> ClientError {
        if error.isLocked { return .locked }
        if error.isFull { return .diskFull }
        // ELOOP: open(2) with O_NOFOLLOW met a symbolic link.
        if error.number == EPERM || error.number == ELOOP { return .state(.exposed) }
        return .state(.unusable(error.number))
    }
}
