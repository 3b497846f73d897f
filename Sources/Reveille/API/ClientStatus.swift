public import FoundationEssentials
public import WakeFeed

/// The client's knowledge about itself. Times are exact to the second.
///
/// It is encoded as the members that `reveille-client status --json` prints, in their form, and can
/// be decoded from what that prints.
public struct ClientStatus: Sendable, Equatable {
    /// The progress of the desired registration.
    public let registration: RegistrationState
    /// Services of earlier configurations that have not acknowledged an erasure yet, and so may
    /// still hold a registration. What they hold expires by itself: see `Policy/PRIVACY.md`.
    public let formerServices: Int
    /// The newest batch of the feed that was checked; 0 before the first, and with a `DataSource`.
    public let sequence: UInt64
    /// The time of the last verified head, or checked page of a `DataSource`; nil before the first.
    public let lastVerified: Date?
    /// The time of the last check of everything that a head named, or of the last page of a
    /// `DataSource`; nil before the first.
    public let lastChecked: Date?
    /// The first and the last batch that a head names and that was not checked; nil when none.
    public let unchecked: ClosedRange<UInt64>?
    /// The fingerprint of the newest accepted head, to compare with others; nil before the first.
    public let fingerprint: FeedFingerprint?
    /// Matches that wait for their delivery.
    public let matchesToDeliver: Int
    /// Wakes are ignored until then, as the publisher asks.
    public let pausedUntil: Date?
    /// The feed is retired.
    public let isRetired: Bool
    /// Two histories were seen; nothing newer is checked.
    public let isForked: Bool
    /// Feed and service share an origin: one operator sees who registers and who fetches.
    public let sharesOrigin: Bool
    /// The state of the event stream, in this process.
    public let stream: StreamState
    /// A proxy on the way cuts the event streams after this time: wakes that come before the next
    /// stream is open are late. Nil when none is seen to.
    public let streamCutAfter: Duration?
    /// Batches that wait for another day's quota.
    public let batchesWaiting: Int
    /// The time at which they are fetched; nil when none waits.
    public let waitingUntil: Date?
    /// The failure of the last cycle, in this process; nil when it succeeded.
    public let failure: ClientError?
    /// The begin of `run`; nil when it does not run in this process.
    public let runningSince: Date?
    /// The begin of the next cycle, unless a wake comes before; nil when none is planned.
    public let nextCheck: Date?

    /// The parts that only the process knows in which the client runs.
    struct Process {
        let stream: StreamState
        let streamCutAfter: Duration?
        let failure: ClientError?
        let runningSince: Int64?
        let nextCheck: Int64?

        /// Of no process.
        static let none = Process(
            stream: .unused, streamCutAfter: nil, failure: nil, runningSince: nil, nextCheck: nil)
    }

    init(
        record: FeedRecord, head: FeedHead?, registration: RegistrationState,
        formerServices: Int, matchesToDeliver: Int, now: Int64, sharesOrigin: Bool,
        quota: DailyQuota?, process: Process = .none
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
        stream = process.stream
        streamCutAfter = process.streamCutAfter.map { .seconds($0.wholeSeconds) }
        failure = process.failure
        runningSince = process.runningSince.map(Date.init(seconds:))
        nextCheck = process.nextCheck.map(Date.init(seconds:))
        batchesWaiting = quota?.waiting ?? 0
        waitingUntil = batchesWaiting > 0 ? quota.map { Date(seconds: $0.nextDay) } : nil
    }
}

/// The state of the event stream.
public enum StreamState: Sendable, Equatable {
    /// The client only polls, or does not run.
    case unused
    /// The request is made, and nothing has come yet.
    case connecting
    /// Events come.
    case connected
    /// It could not be opened, or ended; tried again.
    case waiting
    /// The server answered with this status, or with something else than a stream; tried again.
    case refused(status: Int)
    /// The server accepted, and its first event, which it sends at once, did not come: a proxy on
    /// the way keeps back what should pass. Tried again.
    case silent

    /// A stable name for scripts.
    public var name: String {
        switch self {
        case .unused: "unused"
        case .connecting: "connecting"
        case .connected: "connected"
        case .waiting: "waiting"
        case .refused: "refused"
        case .silent: "silent"
        }
    }
}

/// The progress of the desired registration.
public enum RegistrationState: Sendable, Equatable {
    /// Nothing is registered, and nothing is desired.
    case none
    /// The service acknowledged the push token.
    case registered
    /// The push token is on its way; the client keeps trying. `failure` is of the last attempt.
    case registering(failure: ClientError?)
    /// Many register with the service now: it wants a proof of work, which the client computes for
    /// some seconds before it sends the push token again.
    case proving
    /// The erasure is on its way, with this service or one of an earlier configuration; the client
    /// keeps trying, across restarts.
    case unregistering(failure: ClientError?)
    /// The feed's publisher has switched registrations off for now; it stays desired.
    case suspended
}

/// The reason of a cycle.
public enum SyncReason: Sendable, Equatable {
    /// A person or the app wants to know now.
    case manual
    /// A platform push arrived and the app hands it over.
    case push
    /// An event of the stream arrived; `hint` is the newest sequence it knows of, 0 for none.
    case wake(hint: UInt64)
    /// The timer.
    case poll
    /// The first cycle after the start, after a reconnection or after the machine slept.
    case resumed
}

/// The result of a cycle.
public enum SyncOutcome: Sendable, Equatable {
    /// The feed has nothing that was not checked before.
    case upToDate
    /// New batches were checked. `matches` are those that were not known before.
    case checked(batches: Int, matches: Int)
    /// As `checked`; `waiting` batches exceed the quota until `until`.
    case metered(batches: Int, matches: Int, waiting: Int, until: Date)
    /// The head is older than the wake said: an edge of a CDN lags behind. Checked again later.
    case behind
    /// The feed is retired: nothing will ever be published again.
    case retired
    /// A push that came while wakes are paused, or after the registration was given up.
    case ignored
}

/// Times as the state holds them: whole seconds since 1970.
extension Date {
    package init(seconds: Int64) { self.init(timeIntervalSince1970: Double(seconds)) }

    package var wholeSeconds: Int64 { Int64(timeIntervalSince1970.rounded(.down)) }

    /// To the minute, in UTC.
    package var minuteText: String {
        let text = formatted(
            .iso8601.year().month().day().dateTimeSeparator(.space).time(
                includingFractionalSeconds: false))
        return text.prefix(16) + " UTC"
    }
}
