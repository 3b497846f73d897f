private import WakeModel
private import WakePush
private import WakeSystem

/// The keys that an installation makes for itself: no account is behind them.
package enum GatewayKey: String, Sendable, CaseIterable {
    /// The key for Web Push services (RFC 8292): PKCS #8 as PEM.
    case vapid
    /// The key for an owner's relay: the seed of an Ed25519 key, base64url.
    case relay
    /// The token of the admin listener: 32 random bytes, base64url.
    case admin
    /// The key of the gateway of Oblivious HTTP (RFC 9458), see ``ObliviousKey``.
    case ohttp

    /// Makes a new key in a new file, mode 0600, and returns its public half, base64url; of a
    /// token, which has none, the line for the configuration; of a gateway's key the hash, in
    /// hexadecimal, by which feeds name it.
    /// - Throws: optional when only a library of the system is missing.
    package func create(_ path: String) throws(SetupError) -> String {
        switch self {
        case .vapid:
            try mapError({
                SetupError(Self.message($0), isOptional: $0.isLibraryMissing)
            }) { () throws(VAPIDKeyError) in try VAPIDKey.create(path).publicText }
        case .relay: try Self.create(path) { SigningKey(seed: $0).verifyingKey.text }
        case .ohttp:
            try mapError({ SetupError(Self.message($0)) }) { () throws(FileError) in
                try ObliviousKeyFile.create(path)
            }
        case .admin: try Self.create(path) { _ in "token = \(path)" }
        }
    }

    private static func message(_ error: VAPIDKeyError) -> String {
        guard case .file(.file(let fault)) = error, fault.isMissing else { return error.message }
        return message(fault)
    }

    private static func message(_ error: FileError) -> String {
        error.exists
            ? "the file exists; nothing is overwritten\n"
                + "hint: a relay that allowed the key that is there knows no other"
            : "cannot write the file: \(error.reason)\n"
                + "hint: name a file in a directory of this user's"
    }

    /// Writes 32 random bytes and lends them.
    private static func create<Result>(
        _ path: String, _ body: (Span<UInt8>) -> Result
    ) throws(SetupError) -> Result {
        var seed = Sodium.random(SigningKey.seedBytes)
        defer { seed.wipe() }
        var line = Base64URL.encode(seed.span) + [UInt8(ascii: "\n")]
        defer { line.wipe() }
        let text = line
        try mapError({ SetupError(message($0)) }) { () throws(FileError) in
            try Files.create(path, with: text.span, mode: 0o600)
        }
        return body(seed.span)
    }
}
