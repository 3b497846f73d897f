package import WakeSystem

/// The sender: the key of the developer account, its names, and the app.
package struct APNsCredentials: Sendable, Redacted {
    /// `iss`: the developer account.
    package let teamID: String
    /// `kid`: the key within it.
    package let keyID: String
    /// `apns-topic`: the bundle identifier of the app.
    package let topic: String
    package let key: P256Key

    /// Throws for the first name that is not of the form Apple gives.
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

    /// Reads the `.p8` file of the developer account; one that others can read is refused.
    package init(
        teamID: String, keyID: String, topic: String, keyFile: String
    ) throws(APNsCredentialError) {
        var pem = try mapError(
            APNsCredentialError.keyFile, Files.readSecret(keyFile, limit: Self.keyFileLimit))
        defer { pem.wipe() }
        let key = try mapError(APNsCredentialError.key, try P256Key(.privateKey, pem: pem.span))
        try self.init(teamID: teamID, keyID: keyID, topic: topic, key: key)
    }

    /// Bytes of a key file at most; Apple's have 257.
    private static let keyFileLimit = 8192

    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10 && text.utf8.allSatisfy { $0.isDigit || $0.isCapital }
    }

    /// A bundle identifier: letters, digits, hyphens and full stops (CFBundleIdentifier).
    private static func isTopic(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isAlphanumeric || "-.".utf8.contains($0) }
    }
}

package enum APNsCredentialError: Error, Equatable, Sendable {
    case teamID, keyID, topic
    case keyFile(SecretFileError)
    case key(SigningError)

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
            "[apns] key: "
                + error.message(
                    source: "name the .p8 file as downloaded, owned by the user of this service")
        case .key(let error): "[apns] key: \(error.message)"
        }
    }
}
