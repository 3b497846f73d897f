package import WakeFiles
private import WakeModel

/// Who pushes: the key of the developer account, its names, and the app.
package struct APNsCredentials: Sendable {
    /// `iss`: the developer account.
    package let teamID: String
    /// `kid`: the key within it.
    package let keyID: String
    /// `apns-topic`: the bundle identifier of the app.
    package let topic: String
    package let key: P256Key

    /// - Throws: the first name that is not of the form Apple gives.
    package init(
        teamID: String, keyID: String, topic: String, key: P256Key
    ) throws(APNsCredentialError) {
        guard Self.isIdentifier(teamID) else { throw .teamID }
        guard Self.isIdentifier(keyID) else { throw .keyID }
        guard Self.isTopic(topic) else { throw .topic }
        self.teamID = teamID
        self.keyID = keyID
        self.topic = topic
        self.key = key
    }

    /// Reads the `.p8` file that the developer account gives out once.
    /// - Throws: `keyFileNotPrivate` when others can read it: whoever has it pushes as the app.
    package init(
        teamID: String, keyID: String, topic: String, keyFile: String
    ) throws(APNsCredentialError) {
        var pem = try Self.read(keyFile)
        defer { wipe(&pem) }
        let key: P256Key
        do throws(SigningError) {
            key = try P256Key(.privateKey, pem: pem.span)
        } catch {
            throw .key(error)
        }
        try self.init(teamID: teamID, keyID: keyID, topic: topic, key: key)
    }

    private static func read(_ path: String) throws(APNsCredentialError) -> [UInt8] {
        let isPrivate: Bool
        do throws(FileError) {
            isPrivate = try FileStatus(of: path).isPrivate
        } catch {
            throw .keyFile(error)
        }
        guard isPrivate else { throw .keyFileNotPrivate }
        do throws(FileError) {
            return try Files.read(path, limit: keyFileLimit)
        } catch {
            throw .keyFile(error)
        }
    }

    /// Bytes of a key file at most; Apple's have 257.
    private static let keyFileLimit = 8192

    /// Ten capital letters and digits, as Apple makes them.
    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
    }

    /// A bundle identifier: letters, digits, hyphens and full stops (CFBundleIdentifier).
    private static func isTopic(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x2E
            }
    }
}

extension APNsCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    package var description: String { "(apns credentials)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why the credentials in the configuration cannot be used.
package enum APNsCredentialError: Error, Equatable, Sendable {
    case teamID
    case keyID
    case topic
    case keyFile(FileError)
    case keyFileNotPrivate
    case key(SigningError)

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        switch self {
        case .teamID:
            "[apns] team-id is not ten capital letters and digits\n"
                + "hint: it stands in the developer account under Membership"
        case .keyID:
            "[apns] key-id is not ten capital letters and digits\n"
                + "hint: it stands in the name of the key file: AuthKey_KEYID.p8"
        case .topic:
            "[apns] topic is not a bundle identifier\n"
                + "hint: use the app's bundle identifier, such as org.example.app"
        case .keyFile(let error):
            "[apns] key: cannot read the file: \(error.reason)\n"
                + "hint: name the .p8 file as downloaded, owned by the user of this service"
        case .keyFileNotPrivate:
            "[apns] key: the file can be read by others, or is not this user's\n"
                + "hint: chown it to the user of this service and chmod 600 it"
        case .key(let error): "[apns] key: \(error.message)"
        }
    }
}
