import WakeModel
import WakeSystem

/// The public half of a gateway's key, and what it is used with (RFC 9458 §3.1).
package struct KeyConfiguration: Sendable, Equatable {
    package let id: UInt8
    /// 32 bytes of X25519.
    package let publicKey: [UInt8]
    /// Those that are known here, in the gateway's order; at least one.
    package let ciphers: [HPKECipher]
    /// As it was encoded, unknown algorithms included.
    package let bytes: [UInt8]

    package static let hashBytes = 32
    /// Longest list of configurations that is read, bytes: room for keys of other kinds.
    package static let longestList = 4096
    /// The type of a list (RFC 9458 §3.2).
    package static let mediaType: StaticString = "application/ohttp-keys"

    /// What the head of a feed names it by: SHA-256 of its bytes.
    package var hash: [UInt8] { SHA256.hash(bytes.span) }

    package init(id: UInt8, publicKey: [UInt8], ciphers: [HPKECipher]) {
        precondition(publicKey.count == HPKEContext.keyBytes && !ciphers.isEmpty)
        self.id = id
        self.publicKey = publicKey
        self.ciphers = ciphers
        var bytes = [id]
        bytes.append(bigEndian: HPKEContext.kem)
        bytes += publicKey
        bytes.append(bigEndian: UInt16(4 * ciphers.count))
        for cipher in ciphers {
            bytes.append(bigEndian: HPKEContext.kdf)
            bytes.append(bigEndian: cipher.rawValue)
        }
        self.bytes = bytes
    }

    /// The result of reading one configuration.
    private enum Decoded {
        case known(KeyConfiguration)
        /// Of a kind of key, or with algorithms, that are not known here.
        case other
        case malformed
    }

    /// Reads a configuration without its length; nil when malformed or of other kinds.
    package init?(decoding bytes: [UInt8]) {
        guard case .known(let configuration) = Self.decode(bytes) else { return nil }
        self = configuration
    }

    private init(id: UInt8, publicKey: [UInt8], ciphers: [HPKECipher], bytes: [UInt8]) {
        self.id = id
        self.publicKey = publicKey
        self.ciphers = ciphers
        self.bytes = bytes
    }

    private static func decode(_ bytes: [UInt8]) -> Decoded {
        let span = bytes.span
        guard span.count >= 3 else { return .malformed }
        // Only who knows the kind of key knows how long it is.
        guard span.bigEndian(at: 1, as: UInt16.self) == HPKEContext.kem else { return .other }
        let algorithms = 3 + HPKEContext.keyBytes + 2
        guard span.count >= algorithms + 4 else { return .malformed }
        let count = Int(span.bigEndian(at: algorithms - 2, as: UInt16.self))
        guard count % 4 == 0, span.count == algorithms + count else { return .malformed }
        let ciphers = stride(from: algorithms, to: span.count, by: 4).compactMap { offset in
            span.bigEndian(at: offset, as: UInt16.self) == HPKEContext.kdf
                ? HPKECipher(rawValue: span.bigEndian(at: offset + 2)) : nil
        }
        guard !ciphers.isEmpty else { return .other }
        return .known(
            KeyConfiguration(
                id: span[0], publicKey: span.extracting(3..<3 + HPKEContext.keyBytes).array,
                ciphers: ciphers, bytes: bytes))
    }

    /// Reads `application/ohttp-keys` (RFC 9458 §3.2): each configuration after its length. Those
    /// of other kinds are passed over, as they are for other clients.
    /// - Returns: nil when any is malformed, or the list is empty.
    package static func list(_ bytes: [UInt8]) -> [KeyConfiguration]? {
        var found: [KeyConfiguration] = []
        var offset = 0
        guard !bytes.isEmpty, bytes.count <= longestList else { return nil }
        while offset < bytes.count {
            guard offset + 2 <= bytes.count else { return nil }
            let count = Int(bytes.span.bigEndian(at: offset, as: UInt16.self))
            offset += 2
            guard offset + count <= bytes.count else { return nil }
            switch decode(Array(bytes[offset..<offset + count])) {
            case .known(let configuration): found.append(configuration)
            case .other: break
            case .malformed: return nil
            }
            offset += count
        }
        return found
    }

    package static func encode(_ list: [KeyConfiguration]) -> [UInt8] {
        list.reduce(into: []) { bytes, configuration in
            bytes.append(bigEndian: UInt16(configuration.bytes.count))
            bytes += configuration.bytes
        }
    }
}
