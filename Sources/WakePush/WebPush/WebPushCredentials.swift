private import WakeModel
package import WakeSystem

/// The key that apps subscribe with (RFC 8292): only its holder may wake them.
package struct VAPIDKey: Sendable, Redacted {
    let key: P256Key
    /// The public half: 65 bytes as 87 characters of base64url (RFC 8292 §3.2).
    package let publicText: String

    /// Bytes of a key file at most; ours have 241.
    private static let fileLimit = 8192

    /// Reads a private key on P-256 (PKCS #8, PEM); a file that others can read is refused.
    package init(file path: String) throws(VAPIDKeyError) {
        var pem = try mapError(
            VAPIDKeyError.file, Files.readSecret(path, limit: Self.fileLimit))
        defer { pem.wipe() }
        self = try mapError(
            VAPIDKeyError.key, try VAPIDKey(P256Key(.privateKey, pem: pem.span)))
    }

    /// Throws `refused`.
    init(_ key: P256Key) throws(SigningError) {
        guard let point = key.publicPoint() else { throw .refused(.last) }
        self.key = key
        publicText = String(decoding: Base64URL.encode(point.span), as: UTF8.self)
    }

    /// Makes a new key in a new file, mode 0600; throws `.file` with `exists` when there is one.
    package static func create(_ path: String) throws(VAPIDKeyError) -> VAPIDKey {
        var pem = try mapError(VAPIDKeyError.key, try P256Key.generate())
        defer { pem.wipe() }
        let document = pem
        try mapError({ VAPIDKeyError.file(.file($0)) }) { () throws(FileError) in
            try Files.create(path, with: document.span, mode: 0o600)
        }
        return try VAPIDKey(file: path)
    }
}

/// The reason why the VAPID key in the configuration cannot be used, or none be made.
package enum VAPIDKeyError: Error, Equatable, Sendable {
    case file(SecretFileError)
    case key(SigningError)

    /// libcrypto is missing or unfit: the configuration is right.
    package var isLibraryMissing: Bool {
        if case .key(.libraryMissing) = self { return true }
        return false
    }

    package var message: String { "[webpush] key: \(description)" }

    private static let fresh =
        "bring the key back; a new one (reveille keygen --kind vapid FILE) makes every app "
        + "subscribe again"

    private var description: String {
        switch self {
        case .file(.file(let error)) where error.exists:
            "the file exists; nothing is overwritten\n"
                + "hint: with another key every app must subscribe again: keep the present one"
        case .file(let error): error.message(source: Self.fresh)
        case .key(.keyMalformed), .key(.keyOfOtherSize):
            "the file holds no readable private key\n"
                + "hint: it must be PKCS #8 as PEM, not encrypted; " + Self.fresh
        case .key(.keyOfOtherKind): "the key is not one on the curve P-256\nhint: " + Self.fresh
        case .key(let error): error.message
        }
    }
}
