public import FoundationEssentials
public import WakeFeed

/// The client's knowledge about itself. Times are exact to the second.
///
/// It is encoded as the members that `reveille-client status --json` prints, in their form, and is
/// decoded from what that prints as it was.
public struct ClientStatus: Sendable, Equatable {
    /// The progress of the desired registration.
    public internal(set) var registration: RegistrationState = .none
    /// Services of earlier configurations that have not acknowledged an erasure yet, and so may
    /// still hold a registration. What they hold expires by itself: see `Policy/PRIVACY.md`.
    public internal(set) var formerServices: Int = 0
    /// The newest batch of the feed that was checked; 0 before the first, and with a `DataSource`.
    public internal(set) var sequence: UInt64 = 0
    /// The time of the last verified head, or checked page of a `DataSource`; nil before the first.
    public internal(set) var lastVerified: Date?
    /// The time of the last check of everything that a head named, or of the last page of a
    /// `DataSource`; nil before the first.
    public internal(set) var lastChecked: Date?
    /// The first and the last batch that a head names and that was not checked; nil when none.
    public internal(set) var unchecked: ClosedRange<UInt64>?
    /// The fingerprint of the newest accepted head, to compare with others; nil before the first.
    public internal(set) var fingerprint: FeedFingerprint?
    /// Matches that wait for their delivery.
    public internal(set) var matchesToDeliver: Int = 0
    /// Wakes are ignored until then, as the publisher asks.
    public internal(set) var pausedUntil: Date?
    /// The feed is retired.
    public internal(set) var isRetired: Bool = false
    /// Two histories were seen; nothing newer is checked.
    public internal(set) var isForked: Bool = false
    /// Feed and service share an origin: one operator sees who registers and who fetches.
    public internal(set) var sharesOrigin: Bool = false
    /// The state of the event stream, in this process.
    public internal(set) var stream: StreamState = .unused
    /// A proxy on the way cuts the event streams after this time: wakes that come before the next
    /// stream is open are late. Nil when none is seen to.
    public internal(set) var streamCutAfter: Duration?
    /// Batches that wait for another day's quota.
    public internal(set) var batchesWaiting: Int = 0
    /// The time at which they are fetched; nil when none waits.
    public internal(set) var waitingUntil: Date?
    /// The failure of the last cycle; nil when it succeeded.
    public internal(set) var failure: ClientError?
    /// The begin of `run`; nil when it does not run in this process.
    public internal(set) var runningSince: Date?
    /// The begin of the next cycle, unless a wake comes before; nil when none is planned.
    public internal(set) var nextCheck: Date?

    /// What the state says, and then what only the process knows in which the client runs.
    init(
        record: FeedRecord, head: FeedHead?, registration: RegistrationState,
        formerServices: Int, matchesToDeliver: Int, now: Int64, sharesOrigin: Bool,
        quota: DailyQuota?, failure: ClientError? = nil, runningSince: Int64? = nil,
        stream: StreamState? = nil, streamCutAfter: Duration? = nil, nextCheck: Int64? = nil
    ) {
        self.registration = registration
        self.formerServices = formerServices
        sequence = record.sequence
        lastVerified = record.health.hasVerified ? Date(seconds: record.health.verified) : nil
        lastChecked = record.health.hasChecked ? Date(seconds: record.health.checked) : nil
        unchecked = record.unchecked
        fingerprint = head.map(FeedFingerprint.init)
        self.matchesToDeliver = matchesToDeliver
        pausedUntil = record.directives.pausedUntil(now: now).map(Date.init(seconds:))
        isRetired = record.directives.isRetired
        isForked = record.isForked
        self.sharesOrigin = sharesOrigin
        batchesWaiting = quota?.waiting ?? 0
        waitingUntil = batchesWaiting > 0 ? quota.map { Date(seconds: $0.nextDay) } : nil
        self.failure = failure ?? record.failure.flatMap(ClientError.init(text:))
        guard let runningSince else { return }
        self.runningSince = Date(seconds: runningSince)
        self.stream = stream ?? .unused
        self.streamCutAfter = streamCutAfter.map { .seconds($0.wholeSeconds) }
        self.nextCheck = nextCheck.map(Date.init(seconds:))
    }

    /// Of a client that has seen nothing.
    init() {}
}

/// The status as other programs read it: the same members in `status --json`, `run --json`, the
/// control socket and on the session bus. Members are added at the end and never taken away.
extension ClientStatus: Codable {
    /// A member's value.
    package enum Value: Sendable, Equatable, Codable {
        /// Text without anything that JSON escapes.
        case word(String)
        case number(Int64)
        case flag(Bool)
        /// Unknown, does not apply, or of a newer version.
        case null

        fileprivate var json: String {
            switch self {
            case .word(let word): "\"\(word)\""
            case .number(let number): "\(number)"
            case .flag(let flag): "\(flag)"
            case .null: "null"
            }
        }

        package func encode(to encoder: any Encoder) throws {
            switch self {
            case .word(let word): try word.encode(to: encoder)
            case .number(let number): try number.encode(to: encoder)
            case .flag(let flag): try flag.encode(to: encoder)
            case .null: try Bool?.none.encode(to: encoder)
            }
        }

        package init(from decoder: any Decoder) {
            self =
                (try? Bool(from: decoder)).map(Self.flag)
                ?? (try? Int64(from: decoder)).map(Self.number)
                ?? (try? String(from: decoder)).map(Self.word) ?? .null
        }
    }

    /// Lists the members, once for both directions; times are in seconds since 1970.
    private mutating func visit(_ coder: inout StatusCoder, isRunning: Bool) {
        let (state, channel) = (registration, stream)
        let registrationName = coder.word("registration", state.name)
        coder.word("failure", state.failure?.code)
        let number = coder.known(coder.number("sequence", Int64(clamping: sequence)))
        sequence = UInt64(clamping: number ?? 0)
        lastVerified = coder.time("lastVerified", lastVerified)
        matchesToDeliver = coder.count("matchesToDeliver", matchesToDeliver)
        batchesWaiting = coder.count("batchesWaiting", batchesWaiting)
        waitingUntil = coder.time("waitingUntil", waitingUntil)
        pausedUntil = coder.time("pausedUntil", pausedUntil)
        isRetired = coder.flag("retired", isRetired)
        isForked = coder.flag("forked", isForked)
        sharesOrigin = coder.flag("sharesOrigin", sharesOrigin)
        coder.flag("running", isRunning)
        runningSince = coder.time("runningSince", runningSince)
        let streamName = coder.word("stream", channel.name)
        let streamStatus = coder.number("streamStatus", channel.status.map(Int64.init))
        coder.word("checkFailure", failure?.code)
        nextCheck = coder.time("nextCheck", nextCheck)
        formerServices = coder.count("formerServices", formerServices)
        lastChecked = coder.time("lastChecked", lastChecked)
        let first = coder.number(
            "firstUnchecked", unchecked.map { Int64(clamping: $0.lowerBound) })
        let last = coder.number("lastUnchecked", unchecked.map { Int64(clamping: $0.upperBound) })
        fingerprint = coder.word("fingerprint", fingerprint?.text).flatMap {
            coder.known(FeedFingerprint(text: $0))
        }
        let cut = coder.number("streamCutSeconds", streamCutAfter?.wholeSeconds)
        streamCutAfter = cut.map { .seconds($0) }
        let refusal = coder.word("failureDetail", state.failure?.text).flatMap {
            coder.known(ClientError(text: $0))
        }
        failure = coder.word("checkFailureDetail", failure?.text).flatMap {
            coder.known(ClientError(text: $0))
        }
        if let name = coder.known(registrationName.flatMap(RegistrationState.Name.init)) {
            registration = RegistrationState(name, failure: refusal)
        }
        if let name = coder.known(streamName.flatMap(StreamState.Name.init)) {
            stream = StreamState(name, status: streamStatus.map { Int(clamping: $0) })
        }
        if let first, let last, first >= 0, first <= last {
            unchecked = UInt64(first)...UInt64(last)
        }
    }

    /// The members in order.
    package var members: [(name: String, value: Value)] {
        members(isRunning: runningSince != nil)
    }

    private func members(isRunning: Bool) -> [(name: String, value: Value)] {
        var (copy, coder) = (self, StatusCoder(source: nil))
        copy.visit(&coder, isRunning: isRunning)
        return coder.members
    }

    /// One JSON object in one line.
    package var json: String { json(isRunning: runningSince != nil) }

    /// - Parameter isRunning: some process holds the profile, if not this one.
    package func json(isRunning: Bool) -> String {
        let texts = members(isRunning: isRunning).map { "\"\($0)\":\($1.json)" }
        return "{\(texts.joined(separator: ","))}"
    }

    /// Whether anything but the time of the next check differs, which moves by itself.
    package func differs(from other: ClientStatus) -> Bool {
        var other = other
        other.nextCheck = nextCheck
        return self != other
    }

    /// Writes every member; unknown ones as null.
    public func encode(to encoder: any Encoder) throws {
        try Dictionary(uniqueKeysWithValues: members.map { ($0, $1) }).encode(to: encoder)
    }

    /// Reads members; those of a newer version are passed over.
    public init(from decoder: any Decoder) throws {
        self.init()
        var coder = StatusCoder(source: try [String: Value](from: decoder))
        visit(&coder, isRunning: false)
        guard coder.isUnderstood else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "this is no status"))
        }
    }
}

/// Writes members of a status and returns them, or reads them.
private struct StatusCoder {
    typealias Value = ClientStatus.Value

    /// What is read; nil to write.
    let source: [String: Value]?
    private(set) var members: [(name: String, value: Value)] = []
    /// No member that is needed was missing, or not of its kind.
    private(set) var isUnderstood = true

    init(source: [String: Value]?) { self.source = source }

    private mutating func member(_ name: String, _ value: Value?) -> Value {
        if let source { return source[name] ?? .null }
        members.append((name, value ?? .null))
        return value ?? .null
    }

    mutating func known<Known>(_ value: Known?) -> Known? {
        if value == nil { isUnderstood = false }
        return value
    }

    @discardableResult
    mutating func word(_ name: String, _ word: String?) -> String? {
        switch member(name, word.map { .word($0) }) {
        case .word(let word): word
        case .null: nil
        case .number, .flag: known(nil)
        }
    }

    mutating func number(_ name: String, _ number: Int64?) -> Int64? {
        switch member(name, number.map { .number($0) }) {
        case .number(let number): number
        case .null: nil
        case .word, .flag: known(nil)
        }
    }

    mutating func time(_ name: String, _ time: Date?) -> Date? {
        number(name, time?.wholeSeconds).map(Date.init(seconds:))
    }

    mutating func count(_ name: String, _ count: Int) -> Int {
        Int(clamping: known(number(name, Int64(count))) ?? 0)
    }

    @discardableResult
    mutating func flag(_ name: String, _ flag: Bool) -> Bool {
        if case .flag(let flag) = member(name, .flag(flag)) { flag } else { known(nil) ?? false }
    }
}
