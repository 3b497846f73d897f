package import WakeModel
package import WakeSodium
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
        guard sealed.count == Limits.sealedBytes, id.count == Limits.idBytes else { return nil }
        // On the stack: a broadcast opens every row.
        var associated = InlineArray<33, UInt8>(repeating: UInt8(StoreSchema.version))
        for index in id.indices { associated[1 + index] = id[index] }
        var memory = InlineArray<512, UInt8>(repeating: 0)
        var plaintext = memory.mutableSpan
        defer { plaintext.wipe() }
        guard
            SealedBox.open(sealed, associated: associated.span, key: sealing, into: &plaintext)
        else { return nil }
        return Self.decode(plaintext.span)
    }

    /// Opens many rows: lends a reader, and the key for it.
    func withReader(_ body: (inout RowReader, _ key: Span<UInt8>) -> Void) {
        var reader = RowReader(
            SealedBoxReader(
                plaintextBytes: Limits.plaintextBytes, prefix: Self.associated([]),
                associatedBytes: Limits.idBytes))
        sealing.withSpan { body(&reader, $0) }
        reader.wipe()
    }

    private static func decode(_ plaintext: Span<UInt8>) -> PushToken? {
        guard let (service, token) = content(of: plaintext),
            plaintext.isZero(token.upperBound..<plaintext.count)
        else { return nil }
        return try? PushToken(service: service, bytes: plaintext.extracting(token))
    }

    /// The push service of a plaintext, and the place of its push token: by its first 4 bytes.
    static func content(of plaintext: Span<UInt8>) -> (service: PushService, token: Range<Int>)? {
        guard plaintext[0] == layout, let service = PushService(rawValue: plaintext[1])
        else { return nil }
        let count = Int(plaintext.bigEndian(at: 2, as: UInt16.self))
        guard count <= Limits.pushTokenBytes else { return nil }
        return (service, 4..<4 + count)
    }

    /// First byte of the plaintext.
    private static let layout: UInt8 = 1

    private static func associated(_ id: [UInt8]) -> [UInt8] { [UInt8(StoreSchema.version)] + id }
}
