package import WakeFiles
private import WakeModel
package import WakeSodium

/// The key of an installation: with it, a relay knows who asks for wake-ups.
package struct RelayKey: Sendable {
    package let signingKey: SigningKey

    package init(_ signingKey: SigningKey) {
        self.signingKey = signingKey
    }

    /// From a file: the 32-byte seed as 43 characters of base64url and a newline, readable by this
    /// user only.
    package init(file path: String) throws(RelayKeyError) {
        var text = try Self.read(path)
        defer { wipe(&text) }
        if text.last == 0x0A { text.removeLast() }
        guard var seed = Base64URL.decode(text.span), seed.count == SigningKey.seedBytes else {
            throw .malformed
        }
        defer { wipe(&seed) }
        signingKey = SigningKey(seed: seed.span)
    }

    private static func read(_ path: String) throws(RelayKeyError) -> [UInt8] {
        do throws(FileError) {
            if try FileStatus(of: path).isPrivate { return try Files.read(path, limit: 64) }
        } catch {
            throw .file(error)
        }
        throw .fileNotPrivate
    }

    /// What the relay's owner allows: 43 characters of base64url.
    package var publicText: String { signingKey.verifyingKey.text }
}

extension RelayKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(relay key)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why the key file in the configuration cannot be used.
package enum RelayKeyError: Error, Equatable, Sendable {
    case file(FileError)
    case fileNotPrivate
    case malformed

    /// Two lines: what is wrong, and what to do.
    package func message(section: String) -> String {
        let (problem, hint) = words
        return "[\(section)] via-key: \(problem)\nhint: \(hint)"
    }

    private var words: (problem: String, hint: String) {
        switch self {
        case .file(let error):
            (
                "cannot read the file: \(error.reason)",
                "make one with reveille keygen --kind relay, owned by the user of this service"
            )
        case .fileNotPrivate:
            (
                "the file can be read by others, or is not this user's",
                "chown it to the user of this service and chmod 600 it"
            )
        case .malformed:
            (
                "the file holds no key for a relay",
                "make one with reveille keygen --kind relay"
            )
        }
    }
}
