import Synchronization
import WakeFiles
import WakeSodium

/// The file of installations as the service sees it: read again whenever it was replaced or
/// written, so that `reveille relay revoke` holds from the next request on.
final class InstallationFile: Sendable {
    /// What the file says of a public key.
    enum Word: Equatable {
        case allowed(VerifyingKey)
        /// Never allowed, or revoked: nobody but the operator may know which.
        case unknown
        /// The file cannot be used: nobody is let through.
        case unusable
    }

    private struct Seen {
        /// nil: there is no file.
        let identity: FileStatus.Identity?
        /// nil: it cannot be used.
        let list: InstallationList?
    }

    private let path: String
    private let log: Log
    private let seen = Mutex<Seen?>(nil)

    init(path: String, log: Log) {
        self.path = path
        self.log = log
    }

    /// - Parameter key: 32 bytes.
    func ask(_ key: [UInt8]) -> Word {
        guard let list = current() else { return .unusable }
        guard list.contains(key), let key = VerifyingKey(key) else { return .unknown }
        return .allowed(key)
    }

    /// Installations that are allowed; nil when the file cannot be used.
    var count: Int? { current()?.entries.count }

    /// A call of lstat(2), as long as nothing changes.
    private func current() -> InstallationList? {
        let identity = try? FileStatus(of: path).identity
        return seen.withLock { seen in
            if let seen, seen.identity == identity { return seen.list }
            // What is read may be newer than what was looked at, never older: then the next look
            // finds a change.
            let list = try? InstallationList(path: path)
            // Said once, not with every request.
            if list == nil { log(.relayInstallationsUnusable) }
            seen = Seen(identity: identity, list: list)
            return list
        }
    }
}
