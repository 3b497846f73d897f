private import Glibc
import Synchronization
package import WakeSodium
package import WakeSystem

/// The file of installations, read again after every change: `reveille relay revoke` holds from the
/// next request on.
package final class InstallationFile: Sendable {
    /// The status of a public key.
    package enum Status: Equatable, Sendable {
        case allowed(VerifyingKey)
        /// Never allowed, or revoked.
        case unknown
        /// The file cannot be used: no installation is allowed.
        case unusable
    }

    private let path: String
    private let onUnusable: @Sendable () -> Void
    /// No identity: there is no file. No list: the file cannot be used.
    private let cache = Mutex<(identity: FileStatus.Identity?, list: InstallationList?)?>(nil)

    /// - Parameter onUnusable: called once for every state of the file that cannot be used.
    package init(path: String, onUnusable: @escaping @Sendable () -> Void = {}) {
        self.path = path
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
        let identity = try? FileStatus(of: path).identity
        return cache.withLock { cache in
            if let cache, cache.identity == identity { return cache.list }
            // The list may be newer than the identity, never older: then the next call reads again.
            let list = try? InstallationList(path: path)
            if list == nil { onUnusable() }
            cache = (identity, list)
            return list
        }
    }
}

extension InstallationList {
    /// Reads a file; a missing file is an empty list.
    package init(path: String) throws(InstallationFileError) {
        let bytes: [UInt8]
        do throws(FileError) {
            let status = try FileStatus(of: path)
            // Its writers decide which installations are allowed.
            guard status.isRegular, status.mode & 0o022 == 0 else { throw FileError(.open, EPERM) }
            bytes = try Files.read(path, limit: Self.maximumBytes)
        } catch {
            guard error.isMissing else { throw .file(error) }
            self.init()
            return
        }
        self = try mapError(InstallationFileError.list, InstallationList(parsing: bytes))
    }

    /// Reads a file, changes the list, and replaces the file, under a lock.
    package static func change(
        path: String, _ body: (inout InstallationList) throws(InstallationChangeError) -> Void
    ) throws(InstallationFileError) {
        // The lock is on the directory: the file itself is replaced.
        let directory: OpenFile
        do throws(FileError) {
            let parent = Files.parent(of: path) ?? "."
            // A file that this user creates must be one that the service can read.
            guard try FileStatus(of: parent).owner == geteuid() else {
                throw FileError(.open, EPERM)
            }
            directory = try OpenFile(parent, flags: O_RDONLY | O_DIRECTORY, followsLink: true)
            try directory.lockExclusively()
        } catch { throw error.isLocked ? .busy : .file(error) }
        defer { directory.unlock() }
        var list = try InstallationList(path: path)
        do throws(InstallationChangeError) {
            try body(&list)
        } catch { throw .change(error) }
        try mapError(
            InstallationFileError.file, Files.replace(path, with: list.text.span, mode: 0o640))
    }
}

/// The reason why the file of installations was not read, or not changed.
package enum InstallationFileError: Error, Sendable, Equatable {
    case file(FileError)
    case list(InstallationListError)
    case change(InstallationChangeError)
    /// Another process changes it at this moment.
    case busy
}
