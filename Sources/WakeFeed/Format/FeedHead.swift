import WakeBytes

/// What changes of a feed: signed bytes with the publisher's settings and the names of all retained
/// batches. Values come from `HeadVerifier` only.
public struct FeedHead: Sendable, Equatable {
    /// The feed it belongs to.
    public let feedID: FeedID
    /// Number of the newest batch; 0 before the first.
    public let sequence: UInt64
    /// Number of the oldest batch retained; `sequence + 1` when none is.
    public let firstSequence: UInt64
    /// Time of the signature, rounded down to the minute; seconds since 1970.
    public let issued: Int64
    /// Time by which a newer head should exist; seconds since 1970.
    public let expires: Int64
    /// Header hash of the batch `sequence`; `.none` before the first.
    public let headerHash: HeaderHash
    /// Bytes of all retained batches, headers included.
    public let retainedBytes: UInt64
    /// The publisher's settings for all clients.
    public let settings: FeedSettings
    /// One for each of `firstSequence...sequence`.
    public let suffixes: [BatchSuffix]

    package init(
        feedID: FeedID, sequence: UInt64, firstSequence: UInt64, issued: Int64, expires: Int64,
        headerHash: HeaderHash, retainedBytes: UInt64, settings: FeedSettings,
        suffixes: [BatchSuffix]
    ) {
        self.feedID = feedID
        self.sequence = sequence
        self.firstSequence = firstSequence
        self.issued = issued
        self.expires = expires
        self.headerHash = headerHash
        self.retainedBytes = retainedBytes
        self.settings = settings
        self.suffixes = suffixes
    }

    /// Seconds from the signature to the time by which a newer head should exist: 0 or more, and
    /// not so many that a time less them could overflow.
    package var life: Int64 { min(max(0, expires &- issued), 1 << 40) }

    /// When clients heed wake-ups again, seconds since 1970; nil without a pause.
    package var pausedUntil: Int64? { settings.pausedUntil(issued: issued) }

    /// The time of a head that follows: a full minute, and never earlier than this one's.
    package func next(now: Int64) -> Int64 { max(issued, max(0, now) / 60 * 60) }

    /// The settings of a head that follows, where nothing is to change.
    package func settings(now: Int64) -> FeedSettings {
        settings.continued(from: issued, to: next(now: now))
    }

    /// The number of retained batches.
    public var count: Int { suffixes.count }

    /// Whether the batch is retained.
    public func retains(_ sequence: UInt64) -> Bool {
        sequence >= firstSequence && sequence <= self.sequence
    }

    /// The first bytes of a retained batch's header hash; nil when it is not retained.
    public func suffix(of sequence: UInt64) -> BatchSuffix? {
        retains(sequence) ? suffixes[Int(sequence - firstSequence)] : nil
    }

    /// A file name as in `00000000000000001842-9c1f0a77e3b25d41`; nil for a batch not retained.
    public func batchName(for sequence: UInt64) -> String? {
        suffix(of: sequence).map { Self.batchName(sequence, $0) }
    }

    /// The first batch for which the other head names another hash; nil when they agree.
    package func contradiction(to other: FeedHead) -> UInt64? {
        let first = max(firstSequence, other.firstSequence)
        let last = min(sequence, other.sequence)
        guard first <= last else { return nil }
        if let found = (first...last).first(where: { suffix(of: $0) != other.suffix(of: $0) }) {
            return found
        }
        return sequence == other.sequence && headerHash != other.headerHash ? sequence : nil
    }

    /// 20 decimal digits, a hyphen, 16 hexadecimal digits.
    package static func batchName(_ sequence: UInt64, _ suffix: BatchSuffix) -> String {
        let digits = String(sequence)
        return String(repeating: "0", count: 20 - digits.count) + digits + "-" + suffix.text
    }

    package static func isBatchName(_ name: String) -> Bool { sequence(ofBatchName: name) != nil }

    /// The number in a name that has the form of a batch's; nil for any other name.
    package static func sequence(ofBatchName name: String) -> UInt64? {
        let bytes = Array(name.utf8)
        guard bytes.count == 37, bytes[20] == UInt8(ascii: "-"), bytes[..<20].allSatisfy(\.isDigit),
            bytes[21...].allSatisfy({ $0.isHexDigit && $0 == $0.lowercased })
        else { return nil }
        return UInt64(String(decoding: bytes[..<20], as: UTF8.self))
    }
}

/// The publisher's directives to every client alike.
public struct FeedFlags: OptionSet, Sendable, Hashable {
    /// The bits of the head's field.
    public let rawValue: UInt32

    /// Keeps bits that are unknown to this version.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Wake-ups are to be ignored for `pauseSeconds`; polling goes on.
    public static let paused = FeedFlags(rawValue: 1)
    /// The feed has ended: clients unregister and stop.
    public static let retired = FeedFlags(rawValue: 2)
    /// Clients do not send push tokens.
    public static let noRegistration = FeedFlags(rawValue: 4)
}

/// The settings of clients, from the head with the highest `issued`: an old head restores nothing.
public struct FeedSettings: Sendable, Hashable {
    /// Seconds between two polls.
    public var pollSeconds: UInt32
    /// Longest random wait of a client after a wake-up, seconds.
    public var spreadSeconds: UInt32
    /// Directives that are on or off.
    public var flags: FeedFlags
    /// Duration of `paused`, seconds.
    public var pauseSeconds: UInt32
    /// Clients below this version should ask their user for an update.
    public var minimumClientVersion: UInt32
    /// Seconds caches between publisher and client may keep a head.
    public var cacheSeconds: UInt32
    /// The keys of the service's gateway for Oblivious HTTP, the same for everybody.
    public var gatewayKeys = GatewayKeyHashes()

    /// The defaults: a poll every four hours, wake-ups spread over five minutes, no directives.
    public init(
        pollSeconds: UInt32 = 14_400, spreadSeconds: UInt32 = 300, flags: FeedFlags = [],
        pauseSeconds: UInt32 = 0, minimumClientVersion: UInt32 = 0, cacheSeconds: UInt32 = 30
    ) {
        self.pollSeconds = pollSeconds
        self.spreadSeconds = spreadSeconds
        self.flags = flags
        self.pauseSeconds = pauseSeconds
        self.minimumClientVersion = minimumClientVersion
        self.cacheSeconds = cacheSeconds
    }

    /// The bytes of a head.
    static let byteCount = 24 + GatewayKeyHashes.byteCount

    /// When the pause of a head of that time ends, seconds since 1970; nil without a pause.
    package func pausedUntil(issued: Int64) -> Int64? {
        guard flags.contains(.paused) else { return nil }
        let (end, isOver) = issued.addingReportingOverflow(
            min(Int64(pauseSeconds), FeedLimits.longestPause))
        return isOver ? .max : end
    }

    /// The settings of a head of another time that follows: its pause ends when it was to end.
    func continued(from issued: Int64, to later: Int64) -> FeedSettings {
        guard let end = pausedUntil(issued: issued) else { return self }
        var settings = self
        settings.pauseSeconds = UInt32(clamping: end - later)
        if end <= later { settings.flags.remove(.paused) }
        return settings
    }

    var bytes: [UInt8] {
        [
            pollSeconds, spreadSeconds, flags.rawValue, pauseSeconds, minimumClientVersion,
            cacheSeconds,
        ].reduce(into: []) { $0.append(littleEndian: $1) } + gatewayKeys.bytes
    }

    init(_ bytes: Span<UInt8>) {
        self.init(
            pollSeconds: bytes.littleEndian(at: 0), spreadSeconds: bytes.littleEndian(at: 4),
            flags: FeedFlags(rawValue: bytes.littleEndian(at: 8)),
            pauseSeconds: bytes.littleEndian(at: 12),
            minimumClientVersion: bytes.littleEndian(at: 16),
            cacheSeconds: bytes.littleEndian(at: 20))
        gatewayKeys = GatewayKeyHashes(bytes.extracting(24..<Self.byteCount))
    }
}

/// The hashes (SHA-256) of the key configurations (RFC 9458 §3.1) that clients may encapsulate
/// registrations for. A client that is offered another key is offered one of its own, by which it
/// would be known: it refuses.
public struct GatewayKeyHashes: Sendable, Hashable {
    /// Two hashes, the current one first; zeros stand for none.
    let bytes: [UInt8]

    static let hashBytes = 32
    static let byteCount = 2 * hashBytes

    /// No key: the service has no gateway.
    public init() { bytes = [UInt8](repeating: 0, count: Self.byteCount) }

    /// - Parameter hashes: at most two of 32 bytes, the current one first; nil for any others.
    public init?(_ hashes: [[UInt8]]) {
        guard hashes.count <= 2, hashes.allSatisfy({ $0.count == Self.hashBytes }) else {
            return nil
        }
        let joined = hashes.flatMap(\.self)
        bytes = joined + [UInt8](repeating: 0, count: Self.byteCount - joined.count)
    }

    init(_ bytes: Span<UInt8>) { self.bytes = bytes.array }

    /// The hashes that there are, the current one first.
    public var hashes: [[UInt8]] {
        [Array(bytes[..<Self.hashBytes]), Array(bytes[Self.hashBytes...])]
            .filter { !$0.span.isZero }
    }
}

/// The sequence and the first 128 bits of the header hash as eight proquints, words of 16 bits each
/// (arxiv.org/abs/0901.4016), by which two people compare whether they see the same feed.
public struct FeedFingerprint: Sendable, Hashable {
    /// Number of the newest batch.
    public let sequence: UInt64
    /// Eight words of five letters.
    public let words: [String]

    /// The fingerprint of a head.
    public init(_ head: FeedHead) { self.init(sequence: head.sequence, hash: head.headerHash) }

    /// The fingerprint of a client's cursor; nil before its first head.
    public init?(_ cursor: FeedCursor) {
        guard cursor.newestIssued != nil, let hash = cursor.headerHash else { return nil }
        self.init(sequence: cursor.sequence, hash: hash)
    }

    /// A fingerprint as `text` writes it; nil for other text.
    public init?(text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, let sequence = UInt64(parts[0]) else { return nil }
        let words = parts[1].split(separator: "-", omittingEmptySubsequences: false)
        let isLetter = { (byte: UInt8) in (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
        guard words.count == 8,
            words.allSatisfy({ $0.utf8.count == 5 && $0.utf8.allSatisfy(isLetter) })
        else { return nil }
        (self.sequence, self.words) = (sequence, words.map(String.init))
    }

    private init(sequence: UInt64, hash: HeaderHash) {
        self.sequence = sequence
        words = stride(from: 0, to: 16, by: 2).map {
            Self.word(UInt16(hash.bytes[$0]) << 8 | UInt16(hash.bytes[$0 + 1]))
        }
    }

    /// As in `1842 lusab-babad-gutih-tugad-mudof-sakat-dapuv-zusog`.
    public var text: String { "\(sequence) " + words.joined(separator: "-") }

    private static func word(_ bits: UInt16) -> String {
        func consonant(_ shift: Int) -> Character {
            Array("bdfghjklmnprstvz")[Int(bits >> shift & 15)]
        }
        func vowel(_ shift: Int) -> Character { Array("aiou")[Int(bits >> shift & 3)] }
        return String([consonant(12), vowel(10), consonant(6), vowel(4), consonant(0)])
    }
}
