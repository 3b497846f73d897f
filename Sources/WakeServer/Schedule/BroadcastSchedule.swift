package import WakePush

/// When the next broadcast starts. A value: it is told the time and what happens, and says what to
/// do.
///
/// - A heartbeat at a random moment in each interval, whether or not anything was published: that
///   a device was woken says nothing about the feed.
/// - What is asked for or seen meanwhile starts at the first moment allowed; what waits together is
///   one broadcast.
/// - Never more than three pushes to one push token in any 60 minutes, forced broadcasts included.
///   A token's turn may come at any time within a broadcast, so this counts from the end of one to
///   the start of the third after it, across restarts, changes of the settings and clocks that lie.
/// - A round that a crash cut short may push some tokens twice when it goes on: it counts as two.
///
/// The caller writes `history` to disk after each `ask`, `headSeen`, `started`, `ended`, `lost` and
/// `stopping`, before it acts on them; copies are cheap, so one that cannot be written is dropped:
/// ```
/// var next = schedule
/// next.started(sequence: sequence, now: now)
/// guard write(next.history) else { … }
/// schedule = next
/// ```
package struct BroadcastSchedule: Sendable, Equatable {
    package struct Settings: Sendable, Equatable {
        /// Seconds of an interval; nil: no heartbeat.
        package let heartbeatSeconds: Int?

        package init(heartbeatSeconds: Int? = 7200) {
            precondition(
                heartbeatSeconds.map(BroadcastSchedule.heartbeatSeconds.contains) ?? true)
            self.heartbeatSeconds = heartbeatSeconds
        }
    }

    package enum Decision: Sendable, Equatable {
        /// Nothing to do for so many seconds, at least 1; nil: until something happens.
        case wait(seconds: Int?)
        /// Start one broadcast now, and say `started`.
        case start(BroadcastReasons)
    }

    package enum Asked: Sendable, Equatable {
        /// The feed has nothing newer than the last broadcast, and it was not forced.
        case notNewer
        /// It will start in so many seconds, 0 for now; nil: at the earliest when the one that runs
        /// has ended.
        case waits(seconds: Int?)
    }

    package struct NextStart: Sendable, Equatable {
        package let seconds: Int
        package let reasons: BroadcastReasons
    }

    /// Apple advises two or three background pushes an hour, and throttles more.
    package static let broadcastsPerHour = 3
    /// Seconds of an interval: three an hour at the least, a week at most.
    package static let heartbeatSeconds = 1200...604_800

    /// Seconds from the end of a broadcast to the start of the third after it. One more than an
    /// hour, as clock readings are whole seconds.
    static let windowSeconds = 3601

    private var settings: Settings
    /// To be written to disk, see above.
    package private(set) var history: BroadcastHistory

    /// - Parameters:
    ///   - history: of the last run; nil when there was none. When it `isRunning`, the caller
    ///     resumes that round or says `lost`; either way it first writes this schedule's history.
    package init(
        _ settings: Settings, history: BroadcastHistory?, now: ClockReading,
        using random: inout some RandomNumberGenerator
    ) {
        self.settings = settings
        self.history = history ?? BroadcastHistory(now)
        self.history.move(to: now)
        if self.history.isRunning, !self.history.isStopped {
            // Pushes of the first part left until now at the latest.
            endLast()
            appendStart()
        }
        self.history.isStopped = false
        drawIfChanged(using: &random)
    }

    // MARK: What happens

    /// The publisher or the operator wants a broadcast for what the feed has now.
    package mutating func ask(sequence: UInt64, force: Bool, now: ClockReading) -> Asked {
        history.move(to: now)
        guard force || isNew(sequence) else { return .notNewer }
        history.pending.insert(.asked)
        return .waits(seconds: history.isRunning ? nil : secondsUntilAllowed)
    }

    /// A watched head was read.
    /// - Returns: whether it is new: it will be broadcast.
    package mutating func headSeen(sequence: UInt64, now: ClockReading) -> Bool {
        history.move(to: now)
        guard isNew(sequence) else { return false }
        history.pending.insert(.watched)
        return true
    }

    /// The broadcast that `decide` called for begins now.
    package mutating func started(sequence: UInt64, now: ClockReading) {
        history.move(to: now)
        precondition(!history.isRunning && secondsUntilAllowed == 0, "not allowed now")
        history.pending = []
        history.sequence = sequence
        history.round += 1
        history.isRunning = true
        appendStart()
    }

    /// Only event streams were told: no push token had a push.
    package mutating func toldStreams(sequence: UInt64, now: ClockReading) {
        history.move(to: now)
        history.pending = []
        history.sequence = sequence
    }

    /// The last push of the broadcast has left.
    package mutating func ended(now: ClockReading) {
        history.move(to: now)
        precondition(history.isRunning, "nothing to end")
        endLast()
        history.isRunning = false
    }

    /// The round that was running cannot be resumed: nobody knows who was pushed. It counts as
    /// sent, and everybody is pushed again as soon as allowed.
    package mutating func lost(now: ClockReading) {
        ended(now: now)
        history.pending.insert(.asked)
    }

    /// The program stops with nothing in flight.
    package mutating func stopping(now: ClockReading) {
        history.move(to: now)
        history.isStopped = true
    }

    /// Other settings are in force. What waits goes on waiting, what was sent still counts.
    package mutating func change(
        _ settings: Settings, now: ClockReading, using random: inout some RandomNumberGenerator
    ) {
        history.move(to: now)
        self.settings = settings
        drawIfChanged(using: &random)
    }

    // MARK: What to do

    package mutating func decide(
        _ now: ClockReading, using random: inout some RandomNumberGenerator
    ) -> Decision {
        history.move(to: now)
        fireHeartbeat(using: &random)
        if history.isRunning { return .wait(seconds: nil) }
        if history.pending.isEmpty {
            return .wait(seconds: history.heartbeat.map { $0.due - now.uptime })
        }
        let seconds = secondsUntilAllowed
        return seconds == 0 ? .start(history.pending) : .wait(seconds: seconds)
    }

    /// For status: when the next broadcast starts if nothing else happens; nil while one runs, and
    /// when nothing is due. The moment of a heartbeat is for the operator only.
    package func nextStart(_ now: ClockReading) -> NextStart? {
        var later = self
        later.history.move(to: now)
        guard !later.history.isRunning else { return nil }
        let allowed = later.secondsUntilAllowed
        if !later.history.pending.isEmpty {
            return NextStart(seconds: allowed, reasons: later.history.pending)
        }
        return later.history.heartbeat.map { heartbeat in
            NextStart(seconds: max(0, allowed, heartbeat.due - now.uptime), reasons: .heartbeat)
        }
    }

    // MARK: Moments

    private var uptime: Int { history.seen.uptime }

    private func isNew(_ sequence: UInt64) -> Bool { sequence > history.sequence ?? 0 }

    private var secondsUntilAllowed: Int {
        guard history.ends.count == Self.broadcastsPerHour else { return 0 }
        return max(0, history.ends[0] + Self.windowSeconds - uptime)
    }

    private mutating func appendStart() {
        history.ends.append(uptime)
        if history.ends.count > Self.broadcastsPerHour { history.ends.removeFirst() }
    }

    private mutating func endLast() {
        precondition(!history.ends.isEmpty)
        history.ends[history.ends.count - 1] = uptime
    }

    private mutating func fireHeartbeat(using random: inout some RandomNumberGenerator) {
        while let heartbeat = history.heartbeat, heartbeat.due <= uptime {
            history.pending.insert(.heartbeat)
            // Intervals that nobody lived through are left out.
            let isLate = uptime >= heartbeat.end + heartbeat.interval
            drawHeartbeat(heartbeat.interval, from: isLate ? uptime : heartbeat.end, using: &random)
        }
    }

    /// A restart must not throw the dice again, or restarts in a row would put off the heartbeat
    /// for ever.
    private mutating func drawIfChanged(using random: inout some RandomNumberGenerator) {
        guard settings.heartbeatSeconds != history.heartbeat?.interval else { return }
        history.heartbeat = nil
        guard let interval = settings.heartbeatSeconds else { return }
        drawHeartbeat(interval, from: uptime, using: &random)
    }

    private mutating func drawHeartbeat(
        _ interval: Int, from start: Int, using random: inout some RandomNumberGenerator
    ) {
        history.heartbeat = BroadcastHistory.Heartbeat(
            interval: interval, due: start + Int.random(in: 0..<interval, using: &random),
            end: start + interval)
    }
}
