/// The one file of a feed that changes: 4096 signed bytes that name the newest batch, every batch
/// still retained, and what the publisher asks of clients.
///
/// A value of this type holds only what `HeadVerifier` let through.
public struct FeedHead: Sendable, Equatable {
    /// The feed it belongs to.
    public let feedID: FeedID
    /// Number of the newest batch; 0 before the first.
    public let sequence: UInt64
    /// Number of the oldest batch retained; `sequence + 1` when none is.
    public let firstSequence: UInt64
    /// When it was signed, rounded to the minute; seconds since 1970.
    public let issued: Int64
    /// When a newer one should have taken its place; seconds since 1970.
    public let expires: Int64
    /// Of the batch `sequence`; `.none` before the first.
    public let headerHash: HeaderHash
    /// Bytes of all retained batches, headers included.
    public let retainedBytes: UInt64
    /// What the publisher asks of clients.
    public let settings: FeedSettings
    /// The key that may sign from `sequence + 1` on beside the present one.
    public let nextKey: FeedKey?
    /// One for each of `firstSequence...sequence`.
    public let suffixes: [BatchSuffix]

    /// How many batches are retained.
    public var count: Int { suffixes.count }

    /// Whether the batch is retained.
    public func retains(_ sequence: UInt64) -> Bool {
        sequence >= firstSequence && sequence <= self.sequence
    }

    /// The first bytes of a retained batch's header hash; nil when it is not retained.
    public func suffix(of sequence: UInt64) -> BatchSuffix? {
        retains(sequence) ? suffixes[Int(sequence - firstSequence)] : nil
    }

    /// The name of a retained batch's file, as in `00000000000000001842-9c1f0a77e3b25d41`; nil when
    /// it is not retained.
    public func batchName(for sequence: UInt64) -> String? {
        suffix(of: sequence).map { Self.batchName(sequence, $0) }
    }

    /// 20 decimal digits, a hyphen, 16 hexadecimal digits.
    static func batchName(_ sequence: UInt64, _ suffix: BatchSuffix) -> String {
        let digits = String(sequence)
        return String(repeating: "0", count: 20 - digits.count) + digits + "-" + suffix.text
    }

    /// Whether a name has the form of a batch's.
    package static func isBatchName(_ name: String) -> Bool {
        let characters = Array(name.utf8)
        guard characters.count == 37, characters[20] == UInt8(ascii: "-") else { return false }
        let isDigit = { (byte: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        return characters[..<20].allSatisfy(isDigit)
            && characters[21...].allSatisfy {
                isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}

extension FeedHead {
    /// Seconds between two polls.
    public var pollSeconds: UInt32 { settings.pollSeconds }
    /// Longest random wait of a client after a wake-up, seconds.
    public var spreadSeconds: UInt32 { settings.spreadSeconds }
    /// Wishes that are on or off.
    public var flags: FeedFlags { settings.flags }
    /// How long `paused` holds, seconds.
    public var pauseSeconds: UInt32 { settings.pauseSeconds }
    /// Clients below this version should ask their user for an update.
    public var minimumClientVersion: UInt32 { settings.minimumClientVersion }
    /// Seconds caches between publisher and client may keep a head.
    public var cacheSeconds: UInt32 { settings.cacheSeconds }
}
