/// The bounds of the feed format, also in `Policy/FEED.md`; what exceeds them is refused.
public enum FeedLimits {
    /// Most bytes of a head: one that names as many batches as it can.
    public static let headBytes = 256 + 8 * retainedBatches + 72
    /// Most bytes of the file `head`: the head, and its proof.
    public static let headFileBytes = headBytes + proofBytes
    /// Bytes of a batch's header.
    public static let headerBytes = 256
    /// Largest payload of one batch, bytes.
    public static let payloadBytes = 4 << 20
    /// Batches a head can name.
    public static let retainedBatches = 448
    /// Seconds a batch is retained: 14 days.
    public static let retainedSeconds: Int64 = 14 * 86_400
    /// A batch holds a multiple of this many digests, so that its size says little.
    public static let digestMultiple = 1024
    /// A secret matches a batch by chance with a probability of 2⁻ᵇⁱᵗˢ at most; publishers choose.
    public static let falseMatchBits = 40...54
    /// Bytes of a sealed note that are not note: nonce, authenticator and length.
    public static let noteOverheadBytes = 24 + 16 + 2
    /// Seconds a clock may be off before a head counts as stale or as issued in the future.
    public static let clockToleranceSeconds: Int64 = 600
    /// Seconds for which clients ignore wake-ups at most, whatever a head says: 72 hours.
    package static let longestPause: Int64 = 72 * 3600
    /// Attempts of a client to fetch a head that is as new as a wake-up's hint.
    public static let staleEdgeAttempts = 5
    /// Bytes of a local secret: a shorter one could be guessed from its published digest.
    public static let secretBytes = 16...1024
    /// Bytes hashed and searched together, so that they are read from memory once.
    package static let windowBytes = 64 << 10
    /// Bytes of the file `keys`, always.
    public static let keysBytes = 4096
    /// Largest proof of a head, bytes.
    public static let proofBytes = 8192
    /// Keys that a feed can have, one after the other: the records of that file.
    public static let keys = 16

    // Of publishers only.

    /// Default lifetime of a head: 7 days.
    package static let lifetimeSeconds: Int64 = 7 * 86_400
    /// Default bytes of a sealed note.
    package static let noteBytes = 256
    /// Seconds an unreferenced file is kept: a client may still fetch it by an older head.
    package static let graceSeconds: Int64 = 3600
}
