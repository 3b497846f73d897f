import WakeModel
import WakeSystem

/// A client's side of one exchange (RFC 9458 §4.3, §4.4): the encapsulated request, and what opens
/// the answer to it.
package struct ObliviousRequest: Sendable {
    /// `message/ohttp-req`.
    package let bytes: [UInt8]
    package let response: ResponseProtection

    /// - Parameters:
    ///   - message: a binary request (RFC 9292).
    ///   - cipher: one of the configuration's; nil for the first that this machine has.
    ///   - ephemeral: see ``HPKEContext``.
    /// - Returns: nil when there is no such cipher, or the key is of small order.
    package init?(
        _ message: [UInt8], to configuration: KeyConfiguration, cipher: HPKECipher? = nil,
        ephemeral: [UInt8]? = nil
    ) {
        let offered = configuration.ciphers.filter(\.isAvailable)
        guard let cipher = cipher ?? HPKECipher.order.first(where: offered.contains) else {
            return nil
        }
        let header = EncapsulationHeader(key: configuration.id, cipher: cipher)
        guard
            let sender = HPKEContext.sender(
                to: configuration.publicKey, info: header.info, cipher: cipher,
                ephemeral: ephemeral)
        else { return nil }
        var context = sender.context
        guard let sealed = context.seal(message) else { return nil }
        bytes = header.bytes + sender.encapsulated + sealed
        response = ResponseProtection(context, encapsulated: sender.encapsulated)
    }

    package static let mediaType: StaticString = "message/ohttp-req"
    /// Bytes before and after the binary request, in every suite that is known.
    package static let overhead =
        EncapsulationHeader.byteCount + HPKEContext.keyBytes + HPKECipher.tagBytes
}

/// Key, KEM, KDF and cipher of a request (RFC 9458 §4.1).
struct EncapsulationHeader: Equatable {
    static let byteCount = 7
    private static let label: StaticString = "message/bhttp request"

    let key: UInt8
    let cipher: HPKECipher

    var bytes: [UInt8] {
        var bytes = [key]
        for number in [HPKEContext.kem, HPKEContext.kdf, cipher.rawValue] {
            bytes.append(bigEndian: number)
        }
        return bytes
    }

    var info: [UInt8] { Self.label.bytes + [0] + bytes }
}

/// What protects the answer to a request (RFC 9458 §4.4); both sides have it.
package struct ResponseProtection: Sendable, Redacted {
    package let cipher: HPKECipher
    private let secret: SecretBytes
    private let encapsulated: [UInt8]

    private static let label: StaticString = "message/bhttp response"
    package static let mediaType: StaticString = "message/ohttp-res"

    init(_ context: HPKEContext, encapsulated: [UInt8]) {
        cipher = context.cipher
        secret = context.export(Self.label.bytes, count: Self.nonceBytes(context.cipher))
        self.encapsulated = encapsulated
    }

    /// Bytes of the nonce before the answer: max(Nn, Nk).
    private static func nonceBytes(_ cipher: HPKECipher) -> Int {
        max(HPKECipher.nonceBytes, cipher.keyBytes)
    }

    /// Bytes that an answer has beyond its message.
    package var overhead: Int { Self.nonceBytes(cipher) + HPKECipher.tagBytes }

    /// - Parameters:
    ///   - message: a binary response (RFC 9292).
    ///   - nonce: random, as long as the cipher needs.
    /// - Returns: `message/ohttp-res`; nil where the cipher is not available.
    package func seal(_ message: [UInt8], nonce: [UInt8]? = nil) -> [UInt8]? {
        let nonce = nonce ?? Sodium.random(Self.nonceBytes(cipher))
        guard nonce.count == Self.nonceBytes(cipher) else { return nil }
        var keys = keys(nonce)
        defer { keys.key.wipe() }
        let sealed = cipher.seal(
            message.span, associated: [UInt8]().span, nonce: keys.nonce.span, key: keys.key.span)
        return sealed.map { nonce + $0 }
    }

    /// - Returns: the binary response; nil when any bit differs.
    package func open(_ bytes: [UInt8]) -> [UInt8]? {
        let count = Self.nonceBytes(cipher)
        guard bytes.count >= overhead else { return nil }
        var keys = keys(Array(bytes[..<count]))
        defer { keys.key.wipe() }
        return cipher.open(
            bytes.span.extracting(count..<bytes.count), associated: [UInt8]().span,
            nonce: keys.nonce.span, key: keys.key.span)
    }

    private func keys(_ nonce: [UInt8]) -> (key: [UInt8], nonce: [UInt8]) {
        let salt = encapsulated + nonce
        var secret = secret.copy()
        var extracted = HKDF.extract(salt: salt.span, [secret])
        secret.wipe()
        defer { extracted.wipe() }
        return (
            HKDF.expand(extracted.span, [[UInt8](text: "key")], count: cipher.keyBytes),
            HKDF.expand(extracted.span, [[UInt8](text: "nonce")], count: HPKECipher.nonceBytes)
        )
    }
}
