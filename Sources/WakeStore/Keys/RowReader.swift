import WakeModel
import WakeSodium
import WakeSystem

/// Opens the rows of pages under the keys of their generation, without memory for each of them.
struct RowReader: ~Copyable {
    private var boxes: SealedBoxReader
    private var secrets = SecretPool()
    /// The plaintext of a row; of a short one its start alone.
    private var memory = InlineArray<512, UInt8>(repeating: 0)

    init(_ boxes: consuming SealedBoxReader) { self.boxes = boxes }

    /// - Returns: nil when the key is not that of the row, or any bit differs.
    mutating func open(
        _ sealed: Span<UInt8>, id: Span<UInt8>, key: Span<UInt8>
    ) -> PushToken? {
        guard sealed.count == Limits.sealedBytes, id.count == Limits.idBytes else { return nil }
        var plaintext = memory.mutableSpan
        guard boxes.open(sealed, associated: id, key: key, into: &plaintext),
            let (service, token) = GenerationKeys.content(of: plaintext.span)
        else { return nil }
        // Most tokens are short. What follows is padding, sealed by this program.
        var known = SealedBoxReader.startBytes
        if token.upperBound > known {
            boxes.decryptRest(of: sealed, into: &plaintext)
            known = plaintext.count
        }
        guard plaintext.span.isZero(token.upperBound..<known) else { return nil }
        return try? PushToken(
            service: service, bytes: plaintext.span.extracting(token), in: &secrets)
    }

    /// Overwrites what is left of the last row; nothing is to be opened any more.
    mutating func wipe() {
        boxes.wipe()
        var plaintext = memory.mutableSpan
        plaintext.wipe()
    }
}
