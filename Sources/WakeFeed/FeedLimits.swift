/// The bounds of the feed format. A client refuses whatever exceeds them before it keeps a byte.
public enum FeedLimits {
    /// Bytes of a head, always.
    public static let headBytes = 4096
    /// Bytes of a batch's header.
    public static let headerBytes = 256
    /// Largest payload of one batch, bytes.
    public static let payloadBytes = 4 << 20
    /// Batches a head can name: its table has that many places.
    public static let retainedBatches = 448
    /// Seconds a batch is retained: 14 days.
    public static let retainedSeconds: Int64 = 14 * 86_400
    /// A batch holds a multiple of this many digests, so that its size says little.
    public static let digestMultiple = 1024
    /// Bytes a note cannot use of `noteBytes`: nonce, authenticator and length.
    public static let noteOverheadBytes = 24 + 16 + 2
    /// Seconds a clock may be off before a head counts as stale or as issued in the future.
    public static let clockToleranceSeconds: Int64 = 600
    /// Times a client looks again when the head is older than a wake-up's hint.
    public static let staleEdgeAttempts = 5
    /// Bytes of a local secret: below 16 anyone could guess it from its published digest.
    public static let secretBytes = 16...1024
    /// Bytes hashed and compared in one go, so that they are read from memory once.
    static let windowBytes = 64 << 10
    /// Keys a cursor accepts at once: the pinned ones and an announced successor.
    static let acceptedKeys = 8
}
