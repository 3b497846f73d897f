package import WakeModel
import WakeSystem

/// The keys of one generation. Destroying the master destroys every remnant of its rows.
package struct GenerationKeys: Sendable {
    private let pepper: KeyMemory
    private let sealing: KeyMemory

    /// - Parameter master: 32 random bytes.
    package init(master: KeyMemory) {
        pepper = master.derive(1, context: "rvllid__")
        sealing = master.derive(2, context: "rvllseal")
    }

    /// The id column: BLAKE2b-256 of the instance token, keyed; not slow, as the token is random.
    package func id(of token: InstanceToken) -> [UInt8] {
        token.bytes.withSpan { token in
            pepper.withSpan { pepper in Blake2b.hash(token, count: Limits.idBytes, key: pepper) }
        }
    }

    /// The sealed column: the push token padded to one size, under a random nonce, bound to its id.
    package func seal(_ address: PushToken, id: [UInt8]) -> [UInt8] {
        var plaintext = [UInt8](repeating: 0, count: Limits.plaintextBytes)
        defer { plaintext.wipe() }
        plaintext[0] = Self.layout
        plaintext[1] = address.service.rawValue
        address.bytes.withSpan { bytes in
            plaintext.put(bigEndian: UInt16(bytes.count), at: 2)
            for index in bytes.indices { plaintext[4 + index] = bytes[index] }
        }
        let associated = Self.associated(id)
        return SealedBox.seal(plaintext.span, associated: associated.span, key: sealing)
    }

    /// - Returns: nil when the keys are not those of the row, or any bit differs.
    package func open(_ sealed: Span<UInt8>, id: Span<UInt8>) -> PushToken? {
        var secrets = SecretPool(chunkBytes: 1)
        return withSealingKey { Self.open(sealed, id: id, key: $0, in: &secrets) }
    }

    /// Lends the key that opens rows: for a page of them, counting its users would cost as well.
    func withSealingKey<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        sealing.withSpan(body)
    }

    /// The same as ``open(_:id:)`` for one of many rows.
    static func open(
        _ sealed: Span<UInt8>, id: Span<UInt8>, key: Span<UInt8>, in secrets: inout SecretPool
    ) -> PushToken? {
        guard sealed.count == Limits.sealedBytes, id.count == Limits.idBytes else { return nil }
        // On the stack: a broadcast opens every row.
        var associated = InlineArray<33, UInt8>(repeating: UInt8(StoreSchema.version))
        for index in id.indices { associated[1 + index] = id[index] }
        var memory = InlineArray<592, UInt8>(repeating: 0)
        var plaintext = memory.mutableSpan
        defer { plaintext.wipe() }
        guard SealedBox.open(sealed, associated: associated.span, key: key, into: &plaintext)
        else { return nil }
        return decode(plaintext.span, in: &secrets)
    }

    private static func decode(
        _ plaintext: Span<UInt8>, in secrets: inout SecretPool
    ) -> PushToken? {
        guard plaintext[0] == layout, let service = PushService(rawValue: plaintext[1])
        else { return nil }
        let count = Int(plaintext.bigEndian(at: 2, as: UInt16.self))
        guard count <= Limits.pushTokenBytes, plaintext.isZero((4 + count)..<plaintext.count)
        else { return nil }
        return try? PushToken(
            service: service, bytes: plaintext.extracting(4..<4 + count), in: &secrets)
    }

    /// First byte of the plaintext.
    private static let layout: UInt8 = 1

    private static func associated(_ id: [UInt8]) -> [UInt8] { [UInt8(StoreSchema.version)] + id }
}
