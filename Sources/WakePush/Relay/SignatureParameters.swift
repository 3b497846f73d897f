private import WakeModel

/// What a signature of a request to a relay says of itself (RFC 9421 §2.3): always the same covered
/// components, and exactly these parameters, in any order.
package struct SignatureParameters: Sendable, Equatable {
    /// Seconds since 1970.
    package let created: Int
    package let nonce: SignatureNonce
    /// The Ed25519 public key, 32 bytes; not known to be a valid one, nor an allowed one.
    package let key: [UInt8]
    /// A signature covers its parameters in the order in which they were sent (RFC 9421 §2.5).
    private let order: [Name]

    private enum Name: String, CaseIterable {
        case created, nonce, keyid, alg, tag
    }

    /// What is covered, in this order (RFC 9421 §2).
    static let components: [StaticString] = [
        "@method", "@authority", "@path", "content-type", "content-digest",
    ]
    private static let algorithm: StaticString = "ed25519"
    private static let tag: StaticString = "reveille-relay"

    /// - Parameter key: 32 bytes.
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
        while reader.take(UInt8(ascii: ";")) {
            reader.skipSpaces()
            let word = try reader.key()
            guard let name = Name(rawValue: String(decoding: word, as: UTF8.self)),
                !order.contains(name)
            else { throw StructuredFieldReader.Malformed() }
            order.append(name)
            try reader.expect(UInt8(ascii: "="))
            switch name {
            case .created: created = try reader.integer()
            case .nonce:
                let text = try reader.string()
                nonce = SignatureNonce(text: text)
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
            if reader.take(UInt8(ascii: ")")) { break }
            // RFC 8941 §4.2.1.2: items are parted by spaces. A parameter of an item is another
            // component.
            guard names.isEmpty || isSpaced, names.count < components.count else {
                throw StructuredFieldReader.Malformed()
            }
            names.append(try reader.string())
        }
        let expected = components.map { Array($0.description.utf8) }
        guard names == expected else { throw StructuredFieldReader.Malformed() }
    }

    private static func expect(
        _ word: StaticString, _ reader: inout StructuredFieldReader
    ) throws(StructuredFieldReader.Malformed) {
        let text = try reader.string()
        guard text.span.equals(word) else { throw StructuredFieldReader.Malformed() }
    }

    /// The inner list with its parameters as RFC 8941 §4.1.1.1 writes it: what follows the label in
    /// the field, and `@signature-params` in what is signed.
    package var text: [UInt8] {
        let names = Self.components.map { "\"\($0)\"" }
        var text = Array("(\(names.joined(separator: " ")))".utf8)
        for name in order {
            text += Array(";\(name.rawValue)=".utf8)
            switch name {
            case .created: text += Array(String(created).utf8)
            case .nonce: text += Self.quoted(nonce.text)
            case .keyid: text += Self.quoted(Base64URL.encode(key.span))
            case .alg: text += Self.quoted(Array(Self.algorithm.description.utf8))
            case .tag: text += Self.quoted(Array(Self.tag.description.utf8))
            }
        }
        return text
    }

    private static func quoted(_ text: [UInt8]) -> [UInt8] {
        [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")]
    }
}

/// What makes a request unlike every other: 16 random bytes.
package struct SignatureNonce: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64

    package init(_ high: UInt64, _ low: UInt64) {
        self.high = high
        self.low = low
    }

    package init(using generator: inout some RandomNumberGenerator) {
        self.init(generator.next(), generator.next())
    }

    /// A new one.
    package static func random() -> SignatureNonce {
        var generator = SystemRandomNumberGenerator()
        return SignatureNonce(using: &generator)
    }

    /// From 22 characters of base64url; nil for anything else.
    package init?(text: [UInt8]) {
        guard text.count == 22, let bytes = Base64URL.decode(text.span) else { return nil }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
            bytes.reduce(0) { $0 << 8 | UInt64($1) }
        }
        self.init(number(bytes[..<8]), number(bytes[8...]))
    }

    /// 22 characters of base64url.
    package var text: [UInt8] {
        let bytes = [high, low].flatMap { half in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: half >> $0) }
        }
        return Base64URL.encode(bytes.span)
    }
}
