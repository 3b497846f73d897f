private import Glibc
package import WakeFiles

extension InstallationList {
    /// Reads a file; none is an empty list.
    package init(path: String) throws(InstallationFileError) {
        let bytes: [UInt8]
        do throws(FileError) {
            let status = try FileStatus(of: path)
            // Who can write it decides who is let through.
            guard status.isRegular, status.mode & 0o022 == 0 else { throw FileError(.open, EPERM) }
            bytes = try Files.read(path, limit: Self.maximumBytes)
        } catch {
            guard error.isMissing else { throw .file(error) }
            self.init()
            return
        }
        do throws(InstallationListError) {
            try self.init(parsing: bytes)
        } catch {
            throw .list(error)
        }
    }

    /// Reads a file, changes the list, and puts the file in the old one's place. One at a time: two
    /// that change it at once do not undo each other.
    package static func change(
        path: String, _ body: (inout InstallationList) throws(InstallationChangeError) -> Void
    ) throws(InstallationFileError) {
        // The lock lies on the directory: the file itself is another after each change.
        let directory: OpenFile
        do throws(FileError) {
            let parent = Files.parent(of: path) ?? "."
            // A file that this user makes must be one that the service can read.
            guard try FileStatus(of: parent).owner == geteuid() else {
                throw FileError(.open, EPERM)
            }
            directory = try OpenFile(parent, flags: O_RDONLY | O_DIRECTORY, followsLink: true)
            try directory.lockExclusively()
        } catch {
            throw error.isLocked ? .busy : .file(error)
        }
        defer { directory.unlock() }
        var list = try InstallationList(path: path)
        do throws(InstallationChangeError) {
            try body(&list)
        } catch {
            throw .change(error)
        }
        do throws(FileError) {
            try Files.replace(path, with: list.text.span, mode: 0o640)
        } catch {
            throw .file(error)
        }
    }
}

/// Why the file of installations was not read, or not changed.
package enum InstallationFileError: Error, Sendable, Equatable {
    case file(FileError)
    case list(InstallationListError)
    case change(InstallationChangeError)
    /// Somebody else changes it at this moment.
    case busy
}
