import WakeModel
import WakeSystem

/// The schedule of broadcasts: a value that takes time and events and decides the next start.
///
/// - A heartbeat at a random moment in each interval, whether or not anything was published: that
///   a device was woken says nothing about the feed.
/// - What is asked for or seen meanwhile starts at the first moment allowed; what waits together is
///   one broadcast.
/// - Never more than three pushes to one push token in any 60 minutes, forced broadcasts included:
///   counted from the end of one run to the start of the third after it, across restarts, changes
///   of settings and wrong clocks. A run that a crash cut short counts as two.
///
/// The caller writes `history` to disk after each event, before it acts on it, and drops a schedule
/// whose history cannot be written, see ``ScheduleStore``.
struct BroadcastSchedule: Equatable {
    enum Decision: Equatable {
        /// Nothing to do for this number of seconds, at least 1; nil: until something happens.
        case wait(seconds: Int?)
        case start(BroadcastReasons)
    }

    enum Asked: Equatable {
        /// The feed has nothing newer than the last broadcast, and it was not forced.
        case notNewer
        /// It will start in this number of seconds; nil: once the run that goes on has ended.
        case waits(seconds: Int?)
    }

    /// Apple advises two or three background pushes an hour, and throttles more.
    static let broadcastsPerHour = 3
    /// Seconds of an interval: three an hour at the least, a week at most.
    static let heartbeatSeconds = 1200...604_800
    /// Seconds from the end of a broadcast to the start of the third after it: an hour, rounded up.
    private static let windowSeconds = 3601

    /// Seconds of an interval; nil: no heartbeat.
    private var heartbeatSeconds: Int?
    private(set) var history: BroadcastHistory

    /// - Parameter history: of the last run; nil when there was none. When it `isRunning`, the
    ///   caller resumes that run or calls `lost`, and first writes this schedule's history.
    init(
        heartbeatSeconds: Int?, history: BroadcastHistory?, now: ClockReading,
        using random: inout some RandomNumberGenerator
    ) {
        precondition(heartbeatSeconds.map(Self.heartbeatSeconds.contains) ?? true)
        self.heartbeatSeconds = heartbeatSeconds
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

    /// Takes another interval from now on; nil: no heartbeat.
    mutating func setHeartbeat(
        _ seconds: Int?, now: ClockReading, using random: inout some RandomNumberGenerator
    ) {
        precondition(seconds.map(Self.heartbeatSeconds.contains) ?? true)
        history.move(to: now)
        heartbeatSeconds = seconds
        drawIfChanged(using: &random)
    }

    mutating func ask(sequence: UInt64, force: Bool, now: ClockReading) -> Asked {
        history.move(to: now)
        guard force || isNew(sequence) else { return .notNewer }
        history.pending.insert(.asked)
        return .waits(seconds: history.isRunning ? nil : secondsUntilAllowed)
    }

    /// Reports a watched head; true when it is new and will be broadcast.
    mutating func headSeen(sequence: UInt64, now: ClockReading) -> Bool {
        history.move(to: now)
        guard isNew(sequence) else { return false }
        history.pending.insert(.watched)
        return true
    }

    mutating func started(sequence: UInt64, now: ClockReading) {
        history.move(to: now)
        precondition(!history.isRunning && secondsUntilAllowed == 0, "not allowed now")
        history.pending = []
        history.sequence = sequence
        history.run += 1
        history.isRunning = true
        appendStart()
    }

    /// Only event streams were woken: no push token had a push.
    mutating func streamsWoken(sequence: UInt64, now: ClockReading) {
        history.move(to: now)
        history.pending = []
        history.sequence = sequence
    }

    /// - Parameter hasArrived: whether a push may have: a run without does not count.
    mutating func ended(now: ClockReading, hasArrived: Bool = true) {
        history.move(to: now)
        precondition(history.isRunning, "nothing to end")
        endLast()
        history.isRunning = false
        if !hasArrived { history.ends.removeLast() }
    }

    /// Records the registrations a second of a run, for plans.
    mutating func learn(_ rates: [PushService: Double]) { history.learnt.record(rates) }

    /// Drops requests that wait for their time. Heartbeats stay.
    /// - Returns: whether there was one.
    mutating func cancel(now: ClockReading) -> Bool {
        history.move(to: now)
        defer { history.pending.formIntersection(.heartbeat) }
        return !history.pending.subtracting(.heartbeat).isEmpty
    }

    /// Runs of the last hour, without the one that goes on.
    var recentRuns: Int {
        let ended = history.isRunning ? history.ends.dropLast() : history.ends[...]
        return ended.count { $0 + Self.windowSeconds > uptime }
    }

    /// The run that was going on cannot be resumed: it is unknown who was pushed. It counts as
    /// sent, and everybody is pushed again as soon as allowed.
    mutating func lost(now: ClockReading) {
        ended(now: now)
        history.pending.insert(.asked)
    }

    mutating func stopping(now: ClockReading) {
        history.move(to: now)
        history.isStopped = true
    }

    mutating func decide(
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

    /// Whether another broadcast could start if the one that runs had ended.
    /// - Parameter hasArrived: see `ended`.
    func isNextDue(_ now: ClockReading, hasArrived: Bool = true) -> Bool {
        guard history.isRunning else { return false }
        var later = self
        later.ended(now: now, hasArrived: hasArrived)
        let isHeartbeatDue = history.heartbeat.map { $0.due <= later.uptime } ?? false
        return (!history.pending.isEmpty || isHeartbeatDue) && later.secondsUntilAllowed == 0
    }

    /// Seconds to the next broadcast if nothing else happens; nil while one runs or none is due.
    func secondsToNextStart(_ now: ClockReading) -> Int? {
        var later = self
        later.history.move(to: now)
        guard !later.history.isRunning else { return nil }
        let allowed = later.secondsUntilAllowed
        if !later.history.pending.isEmpty { return allowed }
        return later.history.heartbeat.map { max(allowed, $0.due - now.uptime) }
    }

    /// Seconds since the last push of the last run, or since the start of the one that goes on;
    /// nil before the first.
    func secondsSinceLastRun(_ now: ClockReading) -> Int? {
        var later = self
        later.history.move(to: now)
        return later.history.ends.last.map { later.uptime - $0 }
    }

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
            // Intervals that passed while the machine was off are left out.
            let isLate = uptime >= heartbeat.end + heartbeat.interval
            drawHeartbeat(heartbeat.interval, from: isLate ? uptime : heartbeat.end, using: &random)
        }
    }

    /// A restart must not draw again, or restarts in a row would put off the heartbeat for ever.
    private mutating func drawIfChanged(using random: inout some RandomNumberGenerator) {
        guard heartbeatSeconds != history.heartbeat?.interval else { return }
        history.heartbeat = nil
        if let heartbeatSeconds { drawHeartbeat(heartbeatSeconds, from: uptime, using: &random) }
    }

    private mutating func drawHeartbeat(
        _ interval: Int, from start: Int, using random: inout some RandomNumberGenerator
    ) {
        history.heartbeat = BroadcastHistory.Heartbeat(
            interval: interval, due: start + Int.random(in: 0..<interval, using: &random),
            end: start + interval)
    }
}

/// The reasons of a broadcast; several when requests that waited together become one.
package struct BroadcastReasons: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let heartbeat = BroadcastReasons(rawValue: 1)
    package static let asked = BroadcastReasons(rawValue: 2)
    package static let watched = BroadcastReasons(rawValue: 4)

    static let all: BroadcastReasons = [.heartbeat, .asked, .watched]

    /// The names for logs, such as `heartbeat+asked`.
    package var names: String {
        let names = [(Self.heartbeat, "heartbeat"), (.asked, "asked"), (.watched, "watched")]
            .filter { contains($0.0) }.map(\.1)
        return names.isEmpty ? "none" : names.joined(separator: "+")
    }
}
