private import Glibc

/// Files of keys, tokens and credentials: one rule for all of them.
extension Files {
    /// Set while files are examined for a start, which takes the group's access away first: see
    /// ``closeToGroup(_:)``.
    @TaskLocal package static var overlooksGroup = false

    /// Reads a secret: a regular file, perhaps behind links, that this user alone has access to, or
    /// that is root's and that nobody else can change. The second is how credentials of systemd
    /// and secrets of orchestrators come (systemd.exec(5), "Credentials"). Never waits.
    /// - Returns: up to one byte more than `limit`, which no reader takes for a key.
    package static func readSecret(
        _ path: String, limit: Int
    ) throws(SecretFileError) -> [UInt8] {
        let read: Result<[UInt8], SecretFileError>
        read = try mapError(SecretFileError.file) { () throws(FileError) in
            let file = try OpenFile(path, flags: O_RDONLY | O_NONBLOCK, followsLink: true)
            // Status and bytes of the same open file: a name could be exchanged in between.
            if let fault = try file.status().secretFault { return .failure(fault) }
            return .success(try file.read(at: 0, count: limit + 1))
        }
        return try read.get()
    }

    /// Takes from the group what an orchestrator gave it at the start (Kubernetes, `fsGroup`): its
    /// access to a file or directory of this user's. A link, and what is not there, is left alone.
    /// - Parameter bits: permissions that may stay.
    package static func closeToGroup(_ path: String, keeping bits: UInt32 = 0o700) {
        guard let status = try? FileStatus(of: path), status.isOpenToGroup,
            let file = try? OpenFile(path, flags: O_RDONLY)
        else { return }
        fchmod(file.descriptor, status.mode & bits)
    }
}

extension FileStatus {
    /// Whether it is this user's, and writable for its group, and others have no access: nobody
    /// but an orchestrator gives that.
    package var isOpenToGroup: Bool {
        (isRegular || isDirectory) && owner == geteuid() && mode & 0o027 == 0o020
    }

    fileprivate var secretFault: SecretFileError? {
        guard isRegular else { return .notRegular }
        if isPrivate { return nil }
        guard owner == 0 else {
            return owner == geteuid() ? .notPrivate(mode: mode) : .foreign
        }
        // Root's own files are private, too, unless nobody is meant to change them.
        let forbidden: mode_t = geteuid() == 0 ? 0o237 : 0o022
        return mode & forbidden == 0 ? nil : .notPrivate(mode: mode)
    }
}

/// The reason why the file of a secret cannot be used.
package enum SecretFileError: Error, Hashable, Sendable {
    case file(FileError)
    /// A directory, a FIFO, a device.
    case notRegular
    /// Others have access to it that they must not have.
    case notPrivate(mode: UInt32)
    /// Another user's, and not root's.
    case foreign

    /// Two lines: the problem and a hint.
    /// - Parameter source: what a missing file is made with or comes from.
    package func message(source: String) -> String {
        switch self {
        case .file(let error) where error.isMissing:
            "cannot read the file: \(error.reason)\nhint: \(source)"
        case .file(let error):
            "cannot read the file: \(error.reason)\n"
                + "hint: chown it to the user of this service, or give root's file a group of its"
        case .notRegular:
            "the file is not a regular one\nhint: name the file of the key itself, or a link to it"
        case .notPrivate(let mode) where mode & 0o027 == 0o020:
            "the file can be read by others: its group can even write it (mode \(octal(mode)))\n"
                + "hint: chmod 600 it; on Kubernetes set fsGroupChangePolicy: OnRootMismatch"
        case .notPrivate(let mode):
            "the file can be read by others, or is not this user's (mode \(octal(mode)))\n"
                + "hint: chown it to the user of this service and chmod 600 it; root's own may "
                + "have mode 0440"
        case .foreign:
            "the file can be read by others, or is not this user's\n"
                + "hint: chown it to the user of this service and chmod 600 it"
        }
    }

    private func octal(_ mode: mode_t) -> String {
        let digits = String(mode & 0o777, radix: 8)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }
}
