private import WakeModel
private import WakeSodium

/// The name of a feed: BLAKE2b-128 of `wake-feed-id` and the first public key it was signed with.
/// A successor key does not change it.
public struct FeedID: Sendable, Hashable {
    /// 16 bytes.
    public let bytes: [UInt8]

    /// The identity of the feed whose first key this is.
    public init(firstKey: FeedKey) {
        let hash = Blake2b(count: 16)
        let domain = Array("wake-feed-id".utf8)
        hash.update(domain.span)
        hash.update(firstKey.bytes.span)
        bytes = hash.finish()
    }

    /// - Parameter bytes: 16 bytes.
    init(_ bytes: Span<UInt8>) {
        precondition(bytes.count == 16)
        self.bytes = bytes.array
    }

    /// 32 lower-case hexadecimal digits, fit for a directory's name.
    public var text: String {
        String(decoding: Hex.encode(bytes.span), as: UTF8.self)
    }
}
