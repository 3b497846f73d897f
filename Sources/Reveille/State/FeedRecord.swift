import FoundationEssentials
import WakeFeed
import WakeSystem

/// Everything remembered about the source and its cycles; position and log are stored apart.
struct FeedRecord: Sendable, Equatable, Codable {
    private enum CodingKeys: CodingKey {
        case directivesSeen, health, isForked, warned, generation, missing, newestNamed, failure
    }

    /// The position up to which the published data was checked.
    enum Position: Sendable, Equatable {
        case feed(FeedCursor)
        /// The app's own cursor, nil before the first page, and the app's settings.
        case app(DataCursor?, FeedSettings)

        /// The begin of the same source; the keys of a feed stay known.
        var restarted: Position {
            switch self {
            case .feed(let cursor): .feed(cursor.restarted())
            case .app(_, let settings): .app(nil, settings)
            }
        }

        /// The stored position, with the settings of this one, which is the start of a source.
        /// - Returns: nil when it belongs to a source of the other kind.
        func resumed(at stored: Position) -> Position? {
            switch (self, stored) {
            case (.feed(let start), .feed(let cursor)):
                // Whether both are of one feed shows when its keys are fetched.
                cursor.newestIssued != nil || cursor.chain.contains(start.chain.newest)
                    ? stored : self
            case (.app(_, let settings), .app(let cursor, _)): .app(cursor, settings)
            case (.feed, .app), (.app, .feed): nil
            }
        }
    }

    /// Occasions that were warned of and are not over.
    struct Warned: OptionSet, Sendable, Equatable, Codable {
        let rawValue: Int64

        static let stale = Warned(rawValue: 1)
        static let clockSkew = Warned(rawValue: 2)
        static let retired = Warned(rawValue: 4)
        static let fork = Warned(rawValue: 8)
        static let refused = Warned(rawValue: 16)
        static let cacheFull = Warned(rawValue: 32)
        static let distributor = Warned(rawValue: 64)
        static let secrets = Warned(rawValue: 128)
        static let unusableSecrets = Warned(rawValue: 256)
        static let noQuorum = Warned(rawValue: 512)
        static let otherHistory = Warned(rawValue: 1024)
        static let staleCosignature = Warned(rawValue: 2048)
    }

    var position = Position.app(nil, FeedSettings())
    /// The time at which the head with the highest `issued` was first seen, seconds since 1970.
    var directivesSeen: Int64 = 0
    var health: FeedHealth
    /// A fork was seen: the cursor moves no more.
    var isForked = false
    var warned: Warned = []
    /// The generation of the app's secrets that everything retained was checked against.
    var generation: UInt64?
    /// Asked for again in each cycle.
    private(set) var missing = MissingBatches()
    /// The newest batch that a verified head named.
    var newestNamed: UInt64 = 0
    /// Of the newest check, as `ClientError.text`; nil when it succeeded.
    var failure: String?
    /// The tree of the feed's log that was accepted last; nil without a policy of witnesses.
    var log: LogCursor?

    /// The cursor of a client of the feed; no other has one.
    var cursor: FeedCursor {
        get {
            guard case .feed(let cursor) = position else {
                preconditionFailure("a source of the app's own has no cursor of a feed")
            }
            return cursor
        }
        set { position = .feed(newValue) }
    }

    /// The newest batch of the feed that was checked; 0 before the first, and for other sources.
    var sequence: UInt64 {
        if case .feed(let cursor) = position { cursor.sequence } else { 0 }
    }

    /// The first and the last batch that a head names and that was not checked; nil when none.
    var unchecked: ClosedRange<UInt64>? {
        let waiting = newestNamed > sequence ? sequence + 1...newestNamed : nil
        let missing = missing.sequences
        guard let first = missing.first, let last = missing.last else { return waiting }
        return first...(waiting?.upperBound ?? last)
    }

    /// Advances to the cursor after a batch; batches that it passes over are missing from now on.
    mutating func advance(to cursor: FeedCursor, after header: BatchHeader, now: Int64) {
        missing.checked(header, after: sequence)
        self.cursor = cursor
        if unchecked == nil { health.checkCompleted(now: now) }
    }

    /// Advances to a head; returns the missing batches that are retained no more.
    mutating func advance(to verified: VerifiedHead, now: Int64) -> [UInt64] {
        let dropped = missing.drop(before: verified.head.firstSequence)
        cursor = verified.cursor
        newestNamed = verified.head.sequence
        health.headVerified(now: now)
        if unchecked == nil { health.checkCompleted(now: now) }
        return dropped
    }

    /// Whether the batch was checked, if a head names it.
    func hasChecked(_ sequence: UInt64) -> Bool {
        sequence <= self.sequence && !missing.contains(sequence)
    }

    /// The warning of silence that is due, once.
    mutating func silence(now: Int64) -> Warning? { health.silence(now: now, unchecked: unchecked) }

    /// Seconds between two polls, as the newest head or the app asks; 0 when neither did.
    var pollSeconds: UInt32 {
        if case .feed(let cursor) = position, cursor.newestIssued == nil { return 0 }
        return directives.settings.pollSeconds
    }

    var directives: FeedDirectives {
        switch position {
        case .feed(let cursor):
            FeedDirectives(
                settings: cursor.settings, seen: directivesSeen,
                isKnown: cursor.newestIssued != nil)
        case .app(_, let settings): FeedDirectives(settings: settings, seen: directivesSeen)
        }
    }

    /// Records that an occasion lasts, or with nil is over; returns the warning if it is new.
    mutating func mark(_ occasion: Warned, _ warning: Warning?) -> [Warning] {
        guard let warning else {
            warned.remove(occasion)
            return []
        }
        return warned.insert(occasion).inserted ? [warning] : []
    }
}

/// The publisher's settings for all clients, from the head with the highest `issued` ever verified.
/// Clamped: no feed can switch a client off for ever or make it ask more often.
struct FeedDirectives: Sendable, Equatable {
    var settings = FeedSettings()
    /// The time at which that head was first seen, by this device's clock: seconds since 1970.
    var seen: Int64 = 0
    /// A head was seen.
    var isKnown = true

    /// Before the first head: who has just installed a client waits for it.
    static let firstSpread = Duration.seconds(10)

    /// The upper bound of the random wait after a wake.
    var spread: Duration {
        isKnown ? .seconds(Int64(min(settings.spreadSeconds, 3600))) : Self.firstSpread
    }
    /// The longest time that a cache on the way may serve an old head.
    var cache: Duration { .seconds(Int64(min(max(settings.cacheSeconds, 1), 3600))) }
    var isRetired: Bool { settings.flags.contains(.retired) }
    var mayRegister: Bool { settings.flags.isDisjoint(with: [.noRegistration, .retired]) }

    /// The end of the pause of wakes; nil when there is none. Counted by this device's clock from
    /// when the flag was first seen, so that a wrong clock cannot stretch it.
    func pausedUntil(now: Int64) -> Int64? {
        guard settings.flags.contains(.paused), now >= seen else { return nil }
        let end = seen + min(Int64(settings.pauseSeconds), FeedLimits.longestPause)
        return now < end ? end : nil
    }
}

/// The rule of when to warn of silence and of lasting trouble. Silence is counted from the last
/// check of everything that a head named, and never from the last wake or head: who withholds a
/// batch can sign heads.
struct FeedHealth: Sendable, Equatable, Codable {
    /// Days without a completed check, each warned of once.
    static let silenceDays = [2, 7]
    /// Seconds for which checks must have been tried: a device that was off for days has not tried.
    static let leastAttempt: Int64 = 6 * 3600
    /// Seconds of nothing but trouble before a warning.
    static let lastingTrouble: Int64 = 24 * 3600

    /// A refusal of heads that lasts.
    enum Trouble: Int64, Sendable, Equatable, Codable {
        case badFeed = 1
        case rollback = 2
    }

    /// Seconds since 1970: the last verified head, or the first start.
    private(set) var verified: Int64
    /// `verified` is of a head.
    private(set) var hasVerified = false
    /// Seconds since 1970: the last completed check, or the first start.
    private(set) var checked: Int64
    /// `checked` is of a check.
    private(set) var hasChecked = false
    private(set) var warnedDays = 0
    /// Seconds since 1970: the begin of the first check after the last completed one.
    private(set) var attempted: Int64?
    private(set) var trouble: Trouble?
    private(set) var troubleSince: Int64 = 0
    private(set) var hasWarnedOfTrouble = false

    mutating func headVerified(now: Int64) {
        (verified, hasVerified) = (now, true)
        (trouble, troubleSince, hasWarnedOfTrouble) = (nil, 0, false)
    }

    /// Nothing that a head named is left to check.
    mutating func checkCompleted(now: Int64) {
        (checked, hasChecked, warnedDays, attempted) = (now, true, 0, nil)
    }

    mutating func checkBegan(now: Int64) { attempted = min(attempted ?? now, now) }

    /// A head was refused. A change of its kind does not restart the day.
    mutating func headRefused(_ kind: Trouble, now: Int64) -> Warning? {
        // A clock that was set back restarts the day; it would last for as long as it was set.
        if trouble == nil || now < troubleSince { troubleSince = now }
        trouble = kind
        guard !hasWarnedOfTrouble, now - troubleSince >= Self.lastingTrouble else { return nil }
        hasWarnedOfTrouble = true
        return kind == .badFeed ? .badFeed : .rollback
    }

    /// The warning that is due, once: of silence, or of heads with something that was not checked.
    mutating func silence(now: Int64, unchecked: ClosedRange<UInt64>?) -> Warning? {
        // The clock was set back: count from here, or no warning comes until it is there again.
        verified = min(verified, now)
        checked = min(checked, now)
        attempted = attempted.map { min($0, now) }
        guard let attempted, now - attempted >= Self.leastAttempt else { return nil }
        guard let days = Self.days(from: checked, to: now), days > warnedDays else { return nil }
        warnedDays = days
        if let days = Self.days(from: verified, to: now) { return .silence(days: days) }
        let (first, last) = (unchecked?.lowerBound ?? 0, unchecked?.upperBound ?? 0)
        return .notChecked(first: first, last: last, since: Date(seconds: checked))
    }

    private static func days(from start: Int64, to now: Int64) -> Int? {
        silenceDays.last { now - start >= Int64($0) * 86_400 }
    }
}

extension FeedHealth {
    /// The health of a client that starts for the first time.
    init(startingAt now: Int64) { self.init(verified: now, checked: now) }
}

extension [UInt64] {
    /// Ascending numbers as ranges without holes.
    var runs: [ClosedRange<UInt64>] {
        reduce(into: []) { runs, number in
            if let last = runs.last, last.upperBound + 1 == number {
                runs[runs.count - 1] = last.lowerBound...number
            } else {
                runs.append(number...number)
            }
        }
    }
}
