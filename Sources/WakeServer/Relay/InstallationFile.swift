private import Glibc
import Synchronization
package import WakeModel
import WakeSystem

/// The file of installations, read after every change: a revocation holds from the next request.
package final class InstallationFile: Sendable {
    package enum Status: Equatable, Sendable {
        case allowed(VerifyingKey)
        /// Never allowed, or revoked.
        case unknown
        /// The file cannot be used: no installation is allowed.
        case unusable
    }

    private let file: StateFile<InstallationList>
    private let onUnusable: @Sendable () -> Void
    /// No identity: there is no file. No list: the file cannot be used.
    private let cache = Mutex<(identity: FileStatus.Identity?, list: InstallationList?)?>(nil)

    /// - Parameter onUnusable: called once for every state of the file that cannot be used.
    package init(path: String, onUnusable: @escaping @Sendable () -> Void = {}) {
        file = .installations(path)
        self.onUnusable = onUnusable
    }

    /// - Parameter key: 32 bytes.
    package func status(of key: [UInt8]) -> Status {
        guard let list = current() else { return .unusable }
        guard list.contains(key), let key = VerifyingKey(key) else { return .unknown }
        return .allowed(key)
    }

    /// The number of allowed installations; nil when the file cannot be used.
    package var count: Int? { current()?.entries.count }

    /// One call of lstat(2), as long as nothing changes.
    private func current() -> InstallationList? {
        let identity = try? FileStatus(of: file.path).identity
        return cache.withLock { cache in
            if let cache, cache.identity == identity { return cache.list }
            // The list may be newer than the identity, never older: then the next call reads again.
            let list = try? file.installations()
            if list == nil { onUnusable() }
            cache = (identity, list)
            return list
        }
    }
}

extension StateFile<InstallationList> {
    /// The file at a path: its writers decide which installations are allowed.
    package static func installations(_ path: String) -> StateFile {
        StateFile(path, mode: 0o640, protection: .integrity)
    }

    /// Reads the list; a missing file is an empty one.
    package func installations() throws(StateFileError) -> InstallationList {
        try readIfPresent() ?? InstallationList()
    }

    /// Reads the file, changes the list, and replaces the file, under a lock.
    package func change(
        _ body: (inout InstallationList) throws(InstallationChangeError) -> Void
    ) throws(InstallationFileError) {
        // The lock is on the directory: the file itself is replaced.
        let directory: OpenFile
        do throws(FileError) {
            let parent = Files.parent(of: path) ?? "."
            // A file that this user creates must be one that the service can read.
            guard try FileStatus(of: parent).owner == geteuid()
            else { throw FileError(.open, EPERM) }
            directory = try OpenFile(parent, flags: O_RDONLY | O_DIRECTORY, followsLink: true)
            try directory.lockExclusively()
        } catch {
            throw error.isLocked ? .busy : .file(StateFileError(path, .file(error)))
        }
        defer { directory.unlock() }
        var list = try mapError(InstallationFileError.file, installations())
        try mapError(InstallationFileError.change, body(&list))
        try mapError(InstallationFileError.file, write(list))
    }
}

package enum InstallationFileError: Error, Sendable, Equatable {
    case file(StateFileError)
    case change(InstallationChangeError)
    /// Another process changes it at this moment.
    case busy
}
