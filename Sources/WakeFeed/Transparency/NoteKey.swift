import WakeBytes
package import WakeCrypto

/// A key that signatures of notes are verified with: name, key ID, algorithm and public key
/// (C2SP signed-note, "Verifier keys").
package struct NoteKey: Sendable, Hashable {
    /// The algorithms by their assigned bytes; others are kept, and verify nothing.
    package enum Algorithm: UInt8, Sendable {
        /// Ed25519 over the note's text: a log's.
        case ed25519 = 0x01
        /// Ed25519 over a time and a checkpoint: a witness's (C2SP tlog-cosignature).
        case cosignature = 0x04
    }

    package let name: NoteKeyName
    package let keyID: UInt32
    /// The assigned byte, also of an algorithm unknown here.
    package let type: UInt8
    /// The public key; of an unknown algorithm, whatever it is.
    package let material: [UInt8]
    /// The key, where the algorithm is one of ours.
    package let key: VerifyingKey?

    /// The type of timestamped ML-DSA-44 cosignatures, which nothing here can verify: such a key is
    /// read, and its signatures are ignored as those of an unknown key.
    private static let mlDSA44: UInt8 = 0x06
    private static let mlDSA44Bytes = 1312

    package init(name: NoteKeyName, algorithm: Algorithm, key: VerifyingKey) {
        self.name = name
        type = algorithm.rawValue
        material = key.bytes
        self.key = key
        keyID = Self.keyID(name, algorithm.rawValue, key.bytes)
    }

    /// The key of a feed's log.
    package init(name: NoteKeyName, feedKey: FeedKey) {
        self.init(name: name, algorithm: .ed25519, key: feedKey.verifying)
    }

    /// Reads `name+hexadecimal key ID+base64(type || key)`.
    /// - Returns: nil for any other text, for no key, and for a key ID that is another key's.
    package init?(_ text: [UInt8]) {
        let parts = text.split(
            separator: UInt8(ascii: "+"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let name = NoteKeyName(Array(parts[0])), parts[1].count == 8,
            parts[1].allSatisfy({ $0.isHexDigit && $0 == $0.lowercased }),
            let id = Hex.decode(Array(parts[1]).span),
            let encoded = Base64.decode(Array(parts[2]).span), encoded.count > 1
        else { return nil }
        self.name = name
        keyID = id.span.bigEndian(at: 0)
        type = encoded[0]
        material = Array(encoded[1...])
        switch type {
        case Algorithm.ed25519.rawValue, Algorithm.cosignature.rawValue:
            guard let key = VerifyingKey(material) else { return nil }
            self.key = key
        case Self.mlDSA44:
            guard material.count == Self.mlDSA44Bytes else { return nil }
            key = nil
        default:
            // The ID of these need not be the recommended hash.
            key = nil
            return
        }
        guard keyID == Self.keyID(name, type, material) else { return nil }
    }

    package init?(text: String) { self.init(Array(text.utf8)) }

    package var text: String {
        var id: [UInt8] = []
        id.append(bigEndian: keyID)
        let parts = [
            name.bytes, Hex.encode(id.span), Base64.encode(([type] + material).span),
        ]
        return String(decoding: Array(parts.joined(separator: [UInt8(ascii: "+")])), as: UTF8.self)
    }

    package var algorithm: Algorithm? { Algorithm(rawValue: type) }

    /// SHA-256(name || "\n" || type || key), the first four bytes.
    private static func keyID(_ name: NoteKeyName, _ type: UInt8, _ key: [UInt8]) -> UInt32 {
        SHA256.hash((name.bytes + [.newline, type] + key).span).span.bigEndian(at: 0)
    }

    /// Whether a signature claims to be this key's.
    package func matches(_ signature: NoteSignature) -> Bool {
        signature.keyID == keyID && signature.name == name
    }

    /// Verifies a signature of a note's text, whatever key it claims.
    package func verify(_ signature: NoteSignature, of text: [UInt8]) -> NoteVerification? {
        guard let key, let algorithm else { return nil }
        switch algorithm {
        case .ed25519:
            return key.verifies(signature.bytes.span, of: text.span)
                ? NoteVerification(time: nil) : nil
        case .cosignature:
            guard signature.bytes.count == 8 + 64 else { return nil }
            let time: UInt64 = signature.bytes.span.bigEndian(at: 0)
            let message = Cosignature.message(time: time, text: text)
            guard time <= UInt64(Int64.max),
                key.verifies(signature.bytes.span.extracting(8..<72), of: message.span)
            else { return nil }
            return NoteVerification(time: Int64(time))
        }
    }
}

/// A signature that was verified.
package struct NoteVerification: Sendable, Hashable {
    /// A cosignature's time, seconds since 1970; nil for other signatures.
    package let time: Int64?
}

/// A refusal of a note.
package enum NoteError: Error, Equatable, Sendable {
    /// A signature that claims to be a known key's and is not: the whole note is refused.
    case badSignature
}

extension SignedNote {
    /// Verifies every signature of the keys; the first one of each counts.
    /// - Returns: one entry for each key, nil where it has not signed; keys of unknown algorithms
    ///   are as unknown keys.
    package func verify(_ keys: [NoteKey]) throws(NoteError) -> [NoteVerification?] {
        var verified = [NoteVerification?](repeating: nil, count: keys.count)
        for signature in signatures {
            for (index, key) in keys.enumerated()
            where key.key != nil && key.matches(signature) && verified[index] == nil {
                guard let verification = key.verify(signature, of: text) else {
                    throw .badSignature
                }
                verified[index] = verification
            }
        }
        return verified
    }
}

/// The message of a timestamped Ed25519 cosignature (C2SP tlog-cosignature).
package enum Cosignature {
    package static func message(time: UInt64, text: [UInt8]) -> [UInt8] {
        Array("cosignature/v1\ntime ".utf8) + time.canonical + [.newline] + text
    }
}
