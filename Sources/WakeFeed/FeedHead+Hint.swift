private import WakeModel

extension FeedHead {
    /// The sequence a head claims, without verification: what a server that only passes the head
    /// on may tell as a hint. Clients believe nothing but the signature.
    /// - Returns: nil unless the bytes have the length and the magic of a head.
    package static func sequence(ofUnverified bytes: Span<UInt8>) -> UInt64? {
        guard bytes.count == FeedLimits.headBytes,
            bytes.extracting(0..<8).isEqual(to: magic.bytes)
        else { return nil }
        return bytes.littleEndian(at: 24)
    }

    /// The spread a head claims, without verification: for the plan of a broadcast.
    /// - Parameter bytes: of which `sequence(ofUnverified:)` is not nil.
    package static func spreadSeconds(ofUnverified bytes: Span<UInt8>) -> UInt32 {
        bytes.littleEndian(at: 100)
    }
}
