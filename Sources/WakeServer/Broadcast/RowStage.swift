import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// The stage of a run between scan and session: every distinct push token (``TokenDeduplicator``)
/// that needs a wake-up is handed over at the planned pace (``RunPace``), while there is room.
/// Nothing here waits: one suspension for each row would cost more than the row.
struct RowStage {
    enum Step {
        /// Every row of the page was handled.
        case end
        /// A batch left: reports are waiting.
        case batch
        /// This one has to wait for room.
        case full(Candidate, isBegun: Bool)
        /// The run stops; the rest of the page was not handled.
        case stop
    }

    /// A wake-up that is to leave.
    struct Candidate {
        let entry: InFlightTable.Entry
        fileprivate let token: PushToken
    }

    /// The rows of a page that are left.
    struct Page {
        fileprivate let rows: [StoreRow]
        fileprivate let generation: Generation
        fileprivate var hashes: [UInt64] = []
        fileprivate var next = 0

        init(_ rows: [StoreRow], _ generation: Generation) {
            (self.rows, self.generation) = (rows, generation)
        }
    }

    private(set) var pass = RunPass()
    /// Rows of the previous generation.
    private(set) var previousRows = 0
    private let sessions: RunSessions
    private let checkpoint: CheckpointWriter
    private let inbox: RunInbox
    private let recent: RecentPushes
    private var deduplicator: TokenDeduplicator
    private var pace: RunPace
    private let start = UptimeInstant.now
    /// Set once told to stop: until then a bucket that has begun is sent to its end.
    private var stopDeadline: UptimeInstant?

    /// For what is in flight, and for buckets that have begun, when the program stops.
    static let stopTimeout = Duration.seconds(3)

    /// - Parameter rows: about as many as the store has.
    init(
        expecting rows: Int, sessions: RunSessions, checkpoint: CheckpointWriter,
        inbox: RunInbox, recent: RecentPushes, pace: RunPace
    ) {
        deduplicator = TokenDeduplicator(expecting: rows)
        self.sessions = sessions
        self.checkpoint = checkpoint
        self.inbox = inbox
        self.recent = recent
        self.pace = pace
    }

    /// Between two checks of the pace.
    var checkInterval: Duration { pace.interval }
    /// Pushes a second that the pace allows.
    var perSecond: Double { pace.perSecond }
    mutating func begin(_ pass: RunPass) { self.pass = pass }

    /// See ``RunPass/holdUp(_:for:elapsed:)``.
    mutating func holdUp(_ service: ServiceSet, for time: Duration) {
        pass.holdUp(service, for: time, elapsed: elapsed)
    }

    var elapsed: Duration { UptimeInstant.now - start }

    /// Handles rows of a page until something has to be waited for.
    mutating func advance(_ page: inout Page, _ report: inout BroadcastReport) -> Step {
        if page.hashes.isEmpty {
            page.hashes = deduplicator.hashes(of: page.rows)
        }
        return sessions.withTable { table in
            checkpoint.withProgress { progress in
                while page.next < page.rows.count {
                    let step = take(
                        page.rows.span[page.next], page.hashes[page.next], page.generation,
                        &table, &progress, &report)
                    page.next += 1
                    if let step { return step }
                }
                return .end
            }
        }
    }

    /// - Returns: nil when the next row may follow at once.
    private mutating func take(
        _ row: StoreRow, _ hash: UInt64, _ generation: Generation,
        _ table: inout RunSessions.Table, _ progress: inout CheckpointWriter.Progress,
        _ report: inout BroadcastReport
    ) -> Step? {
        let service = ServiceSet(row.token.service)
        let bucket = BucketRange.bucket(ofPrefix: row.identity.idPrefix)
        let place = progress.read(bucket, of: generation, for: service)
        let segment = place.segment
        guard maySend(isBegun: place.isBegun) else { return .stop }
        guard pass.services.contains(service), !place.isDone else {
            progress.complete(segment)
            return nil
        }
        if pass.isFirst, generation == .previous { previousRows += 1 }
        guard let gateway = sessions.index(of: row.token.service) else {
            return skip(segment, \.unserved, &progress, &report)
        }
        if report.isHeartbeat, !sessions.takesHeartbeats(row.token, gateway) {
            report.hosts.skip(row.token)
            return skip(segment, \.unserved, &progress, &report)
        }
        if recent.areEnough(for: row.token) {
            report.causes[.hourlyLimit, default: 0] += 1
            return skip(segment, \.abandoned, &progress, &report)
        }
        let readiness = table.readiness(gateway)
        if readiness == .unavailable { return leave(segment, service, &progress, &report) }
        guard deduplicator.insert(hash: hash) else {
            guard !pass.isFirst else { return skip(segment, \.duplicates, &progress, &report) }
            // Woken in a pass before this one, as a rule.
            progress.complete(segment)
            return nil
        }
        // What cannot leave need not wait.
        if readiness == .stopped { return skip(segment, \.unsent, &progress, &report) }
        let entry = InFlightTable.Entry(
            row: row.identity, service: row.token.service, host: PushHostKind(row.token),
            hash: hash, generation: generation, gateway: gateway, segment: segment)
        let candidate = Candidate(entry: entry, token: row.token)
        guard isDue, readiness == .free else { return .full(candidate, isBegun: place.isBegun) }
        return handOver(candidate, &table, &report)
    }

    /// Hands a wake-up to its gateway, which may have failed while it waited for room.
    mutating func send(_ candidate: Candidate, _ report: inout BroadcastReport) -> Step? {
        sessions.withTable { table in
            checkpoint.withProgress { progress in
                switch table.readiness(candidate.entry.gateway) {
                case .unavailable: postpone(candidate, &progress, &report)
                case .stopped:
                    skip(candidate.entry.segment, \.unsent, &progress, &report)
                case .free, .full: handOver(candidate, &table, &report)
                }
            }
        }
    }

    private mutating func handOver(
        _ candidate: Candidate, _ table: inout RunSessions.Table,
        _ report: inout BroadcastReport
    ) -> Step? {
        pace.spend()
        report.counters.read(isAgain: !pass.isFirst)
        let mayRepeat = recent.allowsRepetition(to: candidate.token)
        let isBatch = table.send(candidate.entry, candidate.token, mayRepeat: mayRepeat)
        return isBatch ? .batch : nil
    }

    /// Leaves a wake-up that had no room to another pass.
    mutating func postpone(_ candidate: Candidate, _ report: inout BroadcastReport) -> Step? {
        checkpoint.withProgress { postpone(candidate, &$0, &report) }
    }

    private mutating func postpone(
        _ candidate: Candidate, _ progress: inout CheckpointWriter.Progress,
        _ report: inout BroadcastReport
    ) -> Step? {
        forget(candidate.entry)
        let service = ServiceSet(candidate.entry.service)
        return leave(candidate.entry.segment, service, &progress, &report)
    }

    /// The push token was not woken after all.
    mutating func forget(_ entry: InFlightTable.Entry) { deduplicator.remove(hash: entry.hash) }

    /// An empty set of push tokens, by the hashes of this run.
    var noTokens: TokenDeduplicator { TokenDeduplicator(sharingKeyOf: deduplicator) }

    private func skip(
        _ segment: Int, _ counter: WritableKeyPath<RunCounters, UInt64>,
        _ progress: inout CheckpointWriter.Progress, _ report: inout BroadcastReport
    ) -> Step? {
        report.counters.read(isAgain: !pass.isFirst)
        report.counters[keyPath: counter] += 1
        progress.complete(segment)
        return nil
    }

    private func leave(
        _ segment: Int, _ service: ServiceSet, _ progress: inout CheckpointWriter.Progress,
        _ report: inout BroadcastReport
    ) -> Step? {
        if pass.isFirst {
            report.counters.rows += 1
            report.counters.deferred += 1
        }
        progress.complete(segment, deferring: service)
        return nil
    }

    /// Whether the pace lets another wake-up leave; during a stop it does not matter.
    var isDue: Bool {
        mutating get {
            if inbox.isStopping { pace.allowOne() }
            let start = start
            return pace.allows(now: (UptimeInstant.now - start).wholeNanoseconds)
        }
    }

    /// Whether rows may be sent: during a stop only those of a begun bucket.
    mutating func maySend(isBegun: Bool) -> Bool {
        guard inbox.isStopping else { return true }
        let now = UptimeInstant.now
        let deadline = stopDeadline ?? now + Self.stopTimeout
        stopDeadline = deadline
        return isBegun && now < deadline && !inbox.isEnding
    }
}

/// One pass of a run over the store: the push services whose rows it sends, and those that have
/// held up the others for too long. Rows of the latter are left to a pass of their own while there
/// is no room for them, so that no push service waits for another.
struct RunPass {
    let services: ServiceSet
    /// Whether every row is read for the first time.
    let isFirst: Bool
    private(set) var lagging: ServiceSet = []
    private var waited: [UInt8: Duration] = [:]

    /// The part of a run that one push service may cost the others, besides the second that a
    /// reconnect may take.
    private static let tolerance = 20
    private static let grace = Duration.seconds(1)

    /// The first pass.
    init() { (services, isFirst) = (.all, true) }

    /// Another pass.
    init(_ services: ServiceSet) {
        self.services = services
        isFirst = false
    }

    var servicesInTime: ServiceSet { services.subtracting(lagging) }

    /// Counts a time for which the pass waited for room for one push service while another had too
    /// little to do.
    mutating func holdUp(_ service: ServiceSet, for time: Duration, elapsed: Duration) {
        let sum = waited[service.rawValue, default: .zero] + time
        waited[service.rawValue] = sum
        if sum > Self.grace + elapsed / Self.tolerance { lagging.insert(service) }
    }
}

/// The pace of a run: pushes leave at an even rate, or as fast as the gateways take them.
struct RunPace {
    private var bucket: TokenBucket?
    private var allowed = 0
    /// Between two checks of what may leave.
    let interval: Duration
    /// Infinite without a pace.
    let perSecond: Double

    /// The burst, in milliseconds' worth of pushes.
    private static let burstMilliseconds = 50

    init() { (interval, perSecond) = (.milliseconds(Self.burstMilliseconds), .infinity) }

    /// An even pace: 1 to 10⁹ pushes over 1 to 10⁶ seconds.
    init(pushes: Int, over seconds: Int) {
        // One that is due and the burst: who is late by less loses nothing, however slow the rate.
        let burst = 1 + (pushes * Self.burstMilliseconds + seconds * 1000 - 1) / (seconds * 1000)
        bucket = TokenBucket(tokens: pushes, per: .seconds(seconds), burst: burst, isFull: false)
        perSecond = Double(pushes) / Double(seconds)
        // Few at a time: the pace is even, and little is in flight. But each check costs.
        interval = .milliseconds(max(2, min(8000 * seconds / pushes, Self.burstMilliseconds)))
    }

    var isBounded: Bool { bucket != nil }

    /// Whether a push may leave `now`, monotonic nanoseconds; if it does, `spend` follows.
    mutating func allows(now: @autoclosure () -> UInt64) -> Bool {
        if allowed == 0 { allowed = bucket?.take(upTo: .max, now: now()) ?? .max }
        return allowed > 0
    }

    mutating func allowOne() { allowed = max(allowed, 1) }
    mutating func spend() { allowed -= 1 }
}
