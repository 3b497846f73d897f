private import WakeFiles
private import WakeModel
private import WakePush
private import WakeSodium

/// The keys that an installation makes for itself: no account is behind them.
package enum GatewayKey: String, Sendable, CaseIterable {
    /// By which Web Push services know it (RFC 8292): PKCS #8 as PEM.
    case vapid
    /// By which an owner's relay knows it: the seed of an Ed25519 key, base64url.
    case relay

    /// Makes a new key in a new file, mode 0600. A file that is there is left alone.
    /// - Returns: its public half, base64url.
    /// - Throws: optional when only a library of the system is missing.
    package func create(_ path: String) throws(GatewayError) -> String {
        switch self {
        case .vapid:
            do throws(VAPIDKeyError) {
                return try VAPIDKey.create(path).publicText
            } catch {
                throw GatewayError(
                    message: Self.message(error), isOptional: error.isLibraryMissing)
            }
        case .relay: return try Self.createSeed(path)
        }
    }

    /// A file that is to be made is missing only when its directory is.
    private static func message(_ error: VAPIDKeyError) -> String {
        guard case .file(let fault) = error, fault.isMissing else { return error.message }
        return "cannot write the file: \(fault.reason)\n"
            + "hint: name a file in a directory of this user's"
    }

    private static func createSeed(_ path: String) throws(GatewayError) -> String {
        var seed = Sodium.random(SigningKey.seedBytes)
        defer { wipe(&seed) }
        var line = Base64URL.encode(seed.span) + [UInt8(ascii: "\n")]
        defer { wipe(&line) }
        let text = line
        do throws(FileError) {
            try Files.create(path, with: text.span, mode: 0o600)
        } catch {
            throw GatewayError(
                message: error.exists
                    ? "the file exists; nothing is overwritten\n"
                        + "hint: a relay that allowed the key that is there knows no other"
                    : "cannot write the file: \(error.reason)\n"
                        + "hint: name a file in a directory of this user's")
        }
        return SigningKey(seed: seed.span).verifyingKey.text
    }
}
