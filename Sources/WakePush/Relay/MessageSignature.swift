import WakeModel
import WakeSystem

/// The fields `Signature-Input` and `Signature` (RFC 9421 §4): one Ed25519 signature with the label
/// `wakes` over exactly the components of ``SignatureParameters``.
package struct MessageSignature: Sendable, Equatable {
    package let parameters: SignatureParameters
    /// 64 bytes.
    package let signature: [UInt8]

    /// The values of the covered components that differ between requests.
    struct Components {
        let authority: [UInt8]
        let contentDigest: [UInt8]

        /// The signature base (RFC 9421 §2.5). Method, path and content type are constant.
        func base(_ parameters: SignatureParameters) -> [UInt8] {
            let values = [
                [UInt8](text: "POST"), authority, RelayRequest.path.bytes,
                RelayRequest.contentType.bytes, contentDigest,
            ]
            let components = zip(SignatureParameters.components, values).map { ($0, $1) }
            return SignatureBase.bytes(components, parameters: parameters.text)
        }
    }

    init(_ components: Components, created: Int, nonce: SignatureNonce, key: SigningKey) {
        let parameters = SignatureParameters(
            created: created, nonce: nonce, key: key.verifyingKey.bytes)
        self.parameters = parameters
        let base = components.base(parameters)
        signature = key.sign(base.span)
    }

    /// Parses the two fields without verifying anything; nil for anything but the one signature.
    package init?(input: [UInt8], signature: [UInt8]) {
        var inputReader = StructuredFieldReader(input)
        var reader = StructuredFieldReader(signature)
        do throws(StructuredFieldReader.Malformed) {
            try inputReader.expect("wakes=")
            parameters = try SignatureParameters(&inputReader)
            try reader.expect("wakes=")
            self.signature = try reader.bytes()
        } catch { return nil }
        guard inputReader.isAtEnd, reader.isAtEnd, self.signature.count == 64 else { return nil }
    }

    func verifies(_ components: Components, key: VerifyingKey) -> Bool {
        guard key.bytes == parameters.key else { return false }
        let base = components.base(parameters)
        return key.verifies(signature.span, of: base.span)
    }

    package var inputField: [UInt8] { [UInt8](text: "wakes=") + parameters.text }

    package var signatureField: [UInt8] {
        [UInt8](text: "wakes=") + StructuredBytes.encode(signature)
    }
}

/// The parameters of a signature (RFC 9421 §2.3): always the same covered components, and exactly
/// these five parameters, in any order.
package struct SignatureParameters: Sendable, Equatable {
    /// Seconds since 1970.
    package let created: Int
    package let nonce: SignatureNonce
    /// The Ed25519 public key, 32 bytes; neither validated nor known to be allowed.
    package let key: [UInt8]
    /// A signature covers its parameters in the order in which they were sent (RFC 9421 §2.5).
    private let order: [Name]

    private enum Name: String, CaseIterable {
        case created, nonce, keyid, alg, tag
    }

    /// The covered components in this order (RFC 9421 §2).
    static let components: [StaticString] = [
        "@method", "@authority", "@path", "content-type", "content-digest",
    ]
    private static let algorithm: StaticString = "ed25519"
    private static let tag: StaticString = "reveille-relay"

    package init(created: Int, nonce: SignatureNonce, key: [UInt8]) {
        precondition(key.count == 32)
        self.created = created
        self.nonce = nonce
        self.key = key
        order = Name.allCases
    }

    /// Reads the inner list and its parameters, to the end of the field (RFC 8941 §4.2.1.2).
    init(_ reader: inout StructuredFieldReader) throws(StructuredFieldReader.Malformed) {
        try Self.readComponents(&reader)
        var created: Int?
        var nonce: SignatureNonce?
        var key: [UInt8]?
        var order: [Name] = []
        while reader.skip(UInt8(ascii: ";")) {
            reader.skipSpaces()
            let text = try reader.key()
            guard let name = Name(rawValue: String(decoding: text, as: UTF8.self)),
                !order.contains(name)
            else { throw StructuredFieldReader.Malformed() }
            order.append(name)
            try reader.expect(UInt8(ascii: "="))
            switch name {
            case .created: created = try reader.integer()
            case .nonce: nonce = SignatureNonce(text: try reader.string())
            case .keyid:
                let text = try reader.string()
                key = Base64URL.decode(text.span)
            case .alg: try Self.expect(Self.algorithm, &reader)
            case .tag: try Self.expect(Self.tag, &reader)
            }
        }
        guard let created, created >= 0, let nonce, let key, key.count == 32,
            order.count == Name.allCases.count
        else { throw StructuredFieldReader.Malformed() }
        self.created = created
        self.nonce = nonce
        self.key = key
        self.order = order
    }

    private static func readComponents(
        _ reader: inout StructuredFieldReader
    ) throws(StructuredFieldReader.Malformed) {
        var names: [[UInt8]] = []
        try reader.expect(UInt8(ascii: "("))
        while true {
            let isSpaced = reader.skipSpaces()
            if reader.skip(UInt8(ascii: ")")) { break }
            // RFC 8941 §4.2.1.2: spaces separate items. A parameter makes another component.
            guard names.isEmpty || isSpaced, names.count < components.count
            else { throw StructuredFieldReader.Malformed() }
            names.append(try reader.string())
        }
        guard names == components.map(\.bytes) else { throw StructuredFieldReader.Malformed() }
    }

    private static func expect(
        _ value: StaticString, _ reader: inout StructuredFieldReader
    ) throws(StructuredFieldReader.Malformed) {
        let text = try reader.string()
        guard text.span.equals(value) else { throw StructuredFieldReader.Malformed() }
    }

    /// The inner list with its parameters (RFC 8941 §4.1.1.1), `@signature-params` in the base.
    package var text: [UInt8] {
        let names = Self.components.map { "\"\($0)\"" }
        var text = Array("(\(names.joined(separator: " ")))".utf8)
        for name in order {
            text += Array(";\(name.rawValue)=".utf8)
            switch name {
            case .created: text += Array(String(created).utf8)
            case .nonce: text += Self.quoted(nonce.text)
            case .keyid: text += Self.quoted(Base64URL.encode(key.span))
            case .alg: text += Self.quoted(Self.algorithm.bytes)
            case .tag: text += Self.quoted(Self.tag.bytes)
            }
        }
        return text
    }

    private static func quoted(_ text: [UInt8]) -> [UInt8] {
        [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")]
    }
}

/// A number that makes a request unique: 16 random bytes.
package struct SignatureNonce: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64

    package init(_ high: UInt64, _ low: UInt64) {
        self.high = high
        self.low = low
    }

    package static func random() -> SignatureNonce {
        SignatureNonce(SystemRandom.word(), SystemRandom.word())
    }

    /// From 22 characters of base64url; nil for anything else.
    package init?(text: [UInt8]) {
        guard text.count == 22, let bytes = Base64URL.decode(text.span) else { return nil }
        self.init(bytes.span.bigEndian(at: 0), bytes.span.bigEndian(at: 8))
    }

    /// 22 characters of base64url.
    package var text: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
        return Base64URL.encode(bytes.span)
    }
}

/// The bytes that are signed (RFC 9421 §2.5).
enum SignatureBase {
    /// - Parameter components: the identifiers, without quotation marks, and their values.
    static func bytes(
        _ components: [(name: StaticString, value: [UInt8])], parameters: [UInt8]
    ) -> [UInt8] {
        var base: [UInt8] = []
        for (name, value) in components { base += Array("\"\(name)\": ".utf8) + value + [0x0A] }
        return base + Array("\"@signature-params\": ".utf8) + parameters
    }
}

/// The reason why a request's signature is refused.
package enum SignatureError: Error, Sendable, Hashable, CaseIterable {
    case missing
    /// Not of the one form that a relay accepts.
    case malformed
    /// It does not verify, or the body is not the one that was signed.
    case wrong
    /// Made too long ago, or in the future.
    case stale
    case replayed
}
