import WakeFeed
package import WakeModel
private import WakeSystem

/// The file with a feed's signing key: the 32-byte seed in base64url, for its owner alone.
package enum FeedKeyFile {
    private static let characters = 43

    /// Creates a new key; `.file` with `exists` when there is a file.
    package static func create(
        _ path: String, random: (Int) -> [UInt8] = Sodium.random
    ) throws(FeedDirectoryError) -> SigningKey {
        var seed = random(SigningKey.seedBytes)
        var line = Base64URL.encode(seed.span) + [UInt8(ascii: "\n")]
        defer {
            seed.wipe()
            line.wipe()
        }
        let text = line
        try mapError(FeedDirectoryError.of) { () throws(FileError) in
            try Files.create(path, with: text.span, mode: 0o600)
        }
        return SigningKey(seed: seed.span)
    }

    /// Reads the key by the rule of all files of secrets, see ``Files/readSecret(_:limit:)``: one
    /// that others could read is refused.
    package static func load(_ path: String) throws(FeedDirectoryError) -> SigningKey {
        var line = try mapError(FeedDirectoryError.keyFile) { () throws(SecretFileError) in
            try Files.readSecret(path, limit: characters + 1)
        }
        defer { line.wipe() }
        if line.last == UInt8(ascii: "\n") { line.removeLast() }
        guard line.count == characters, var seed = Base64URL.decode(line.span) else {
            throw .keyFileMalformed
        }
        defer { seed.wipe() }
        return SigningKey(seed: seed.span)
    }
}
