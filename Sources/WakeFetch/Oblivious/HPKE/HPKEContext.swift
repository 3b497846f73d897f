package import WakeModel
import WakeSystem

/// One direction of Hybrid Public Key Encryption in base mode (RFC 9180 §5), with
/// DHKEM(X25519, HKDF-SHA256) and HKDF-SHA256.
package struct HPKEContext: Sendable {
    /// RFC 9180 §7.1, §7.2.
    package static let kem: UInt16 = 0x0020
    package static let kdf: UInt16 = 0x0001
    /// Nenc and Npk: an encapsulated key, and a public one, bytes.
    package static let keyBytes = 32

    package let cipher: HPKECipher
    private let key: SecretBytes
    private let baseNonce: [UInt8]
    private let exporter: SecretBytes
    private var sequence: UInt64 = 0

    /// `SetupBaseS` (RFC 9180 §5.1.1): the context of who sends, and the key for the other side.
    /// - Parameter ephemeral: 32 bytes; nil for random ones. For this message alone.
    /// - Returns: nil when the receiver's key is not one of 32 bytes, or of small order.
    package static func sender(
        to receiver: [UInt8], info: [UInt8], cipher: HPKECipher, ephemeral: [UInt8]? = nil
    ) -> (context: HPKEContext, encapsulated: [UInt8])? {
        var secret = ephemeral ?? Sodium.random(keyBytes)
        defer { secret.wipe() }
        guard receiver.count == keyBytes,
            let shared = X25519.agree(secret.span, with: receiver.span)
        else { return nil }
        let encapsulated = X25519.publicKey(of: secret.span)
        let context = HPKEContext(
            agreed: shared, encapsulated, receiver, info: info, cipher: cipher)
        return (context, encapsulated)
    }

    /// `SetupBaseR` (RFC 9180 §5.1.1).
    /// - Returns: nil when the encapsulated key is not one of 32 bytes, or of small order.
    package init?(
        receivedBy receiver: AgreementKey, encapsulated: [UInt8], info: [UInt8],
        cipher: HPKECipher
    ) {
        guard let shared = receiver.agree(with: encapsulated.span) else { return nil }
        self.init(
            agreed: shared, encapsulated, receiver.publicKey, info: info, cipher: cipher)
    }

    /// `ExtractAndExpand` (RFC 9180 §4.1) and `KeySchedule` (§5.1).
    private init(
        agreed shared: consuming [UInt8], _ encapsulated: [UInt8], _ receiver: [UInt8],
        info: [UInt8], cipher: HPKECipher
    ) {
        let kem = LabeledDerivation(kem: Self.kem)
        var agreed = shared
        var extracted = kem.extract("eae_prk", salt: [], agreed)
        agreed.wipe()
        var secret = kem.expand(
            extracted, "shared_secret", encapsulated + receiver, count: 32)
        extracted.wipe()
        let schedule = LabeledDerivation(kem: Self.kem, kdf: Self.kdf, cipher: cipher)
        // Mode 0, no pre-shared key.
        let context =
            [0] + schedule.extract("psk_id_hash", salt: [], [])
            + schedule.extract("info_hash", salt: [], info)
        var master = schedule.extract("secret", salt: secret, [])
        secret.wipe()
        defer { master.wipe() }
        self.cipher = cipher
        key = schedule.secret(master, "key", context, count: cipher.keyBytes)
        baseNonce = schedule.expand(
            master, "base_nonce", context, count: HPKECipher.nonceBytes)
        exporter = schedule.secret(master, "exp", context, count: 32)
    }

    /// The next message, encrypted (RFC 9180 §5.2); nil where the cipher is not available.
    package mutating func seal(_ message: [UInt8], associated: [UInt8] = []) -> [UInt8]? {
        let nonce = nonce()
        sequence += 1
        return key.withSpan {
            cipher.seal(message.span, associated: associated.span, nonce: nonce.span, key: $0)
        }
    }

    /// The next message, which its owner wipes; nil when any bit differs.
    package mutating func open(_ sealed: Span<UInt8>, associated: [UInt8] = []) -> [UInt8]? {
        let nonce = nonce()
        let message = key.withSpan {
            cipher.open(sealed, associated: associated.span, nonce: nonce.span, key: $0)
        }
        if message != nil { sequence += 1 }
        return message
    }

    /// A secret of both sides (RFC 9180 §5.3).
    package func export(_ context: [UInt8], count: Int) -> SecretBytes {
        let schedule = LabeledDerivation(kem: Self.kem, kdf: Self.kdf, cipher: cipher)
        return exporter.withSpan { exporter in
            var exporter = exporter.array
            defer { exporter.wipe() }
            return schedule.secret(exporter, "sec", context, count: count)
        }
    }

    /// `ComputeNonce` (RFC 9180 §5.2).
    private func nonce() -> [UInt8] {
        var nonce = baseNonce
        for index in 0..<8 {
            nonce[11 - index] ^= UInt8(truncatingIfNeeded: sequence >> (8 * index))
        }
        return nonce
    }
}

extension HPKEContext: Redacted {}

/// `LabeledExtract` and `LabeledExpand` (RFC 9180 §4) of one suite.
private struct LabeledDerivation {
    private static let version: StaticString = "HPKE-v1"
    private let suite: [UInt8]

    init(kem: UInt16) {
        var suite = [UInt8](text: "KEM")
        suite.append(bigEndian: kem)
        self.suite = suite
    }

    init(kem: UInt16, kdf: UInt16, cipher: HPKECipher) {
        var suite = [UInt8](text: "HPKE")
        for number in [kem, kdf, cipher.rawValue] { suite.append(bigEndian: number) }
        self.suite = suite
    }

    func extract(_ label: StaticString, salt: [UInt8], _ input: [UInt8]) -> [UInt8] {
        HKDF.extract(salt: salt.span, [Self.version.bytes, suite, label.bytes, input])
    }

    func expand(
        _ key: [UInt8], _ label: StaticString, _ context: [UInt8], count: Int
    ) -> [UInt8] {
        var length: [UInt8] = []
        length.append(bigEndian: UInt16(count))
        return HKDF.expand(
            key.span, [length, Self.version.bytes, suite, label.bytes, context], count: count)
    }

    func secret(
        _ key: [UInt8], _ label: StaticString, _ context: [UInt8], count: Int
    ) -> SecretBytes {
        var bytes = expand(key, label, context, count: count)
        defer { bytes.wipe() }
        return SecretBytes(bytes)
    }
}
