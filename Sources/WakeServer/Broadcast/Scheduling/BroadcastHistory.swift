import WakeModel
import WakeSystem

/// The facts that the schedule remembers across restarts, `data/broadcast`: nothing about people.
/// Moments are seconds of uptime of one start of the machine, that of `seen`, and may be negative.
///
/// The order of writing by which no crash loses a broadcast or repeats one:
/// 1. start: `Checkpoint.create`, then this with `started`, then the first push;
/// 2. end: this with `ended`, then `Checkpoint.remove`;
/// 3. at a restart a checkpoint goes on when `isRunning` and its run is `run`, any other is
///    removed. When it `isRunning` and there is no such checkpoint, the schedule gets `lost`.
struct BroadcastHistory: Equatable {
    struct Heartbeat: Equatable {
        /// Seconds; as configured when this was drawn.
        let interval: Int
        /// Uptime; in the last `interval` seconds before `end`, where the next interval begins.
        var due: Int
        var end: Int
    }

    var seen: ClockReading
    var sequence: UInt64?
    /// The number of the last run of pushes, 0 before the first.
    var run: UInt64 = 0
    /// Uptime at which the last push of each of the last three runs left, the oldest first. Of one
    /// that is going on, its start.
    var ends: [Int] = []
    var isRunning = false
    /// Whether the program stopped with every delivery complete: a resume repeats nothing.
    var isStopped = false
    var pending: BroadcastReasons = []
    var heartbeat: Heartbeat?
    var learnt = LearntRates()

    init(_ now: ClockReading) { seen = now }

    /// The history in place of a file that cannot be read: three runs may have ended just now.
    /// - Parameter header: of a checkpoint, if there is one: its run goes on.
    static func unknown(
        _ now: ClockReading, resuming header: Checkpoint.Header? = nil
    ) -> BroadcastHistory {
        var history = BroadcastHistory(now)
        history.ends = [Int](repeating: now.uptime, count: 3)
        guard let header else { return history }
        history.isRunning = true
        history.run = header.run
        history.sequence = header.sequence
        return history
    }

    /// Moves every moment so that it is as far from `now` as is certain.
    ///
    /// Within one start of the machine uptime is right. Across starts the lesser of the present
    /// uptime and what the wall clock says has passed, and nothing when the wall clock was set
    /// back: one set forward changes nothing, one set back costs at most an hour.
    mutating func move(to now: ClockReading) {
        defer { seen = now }
        let isSameStart = now.boot == seen.boot
        if isSameStart, now.uptime >= seen.uptime { return }
        var certain = 0
        if !isSameStart {
            let (wall, overflow) = now.wall.subtractingReportingOverflow(seen.wall)
            certain = overflow ? 0 : max(0, min(now.uptime, wall))
        }
        let shift = now.uptime - (seen.uptime + certain)
        for index in ends.indices { ends[index] += shift }
        heartbeat?.due += shift
        heartbeat?.end += shift
    }
}

extension BroadcastHistory: StateRecord {
    package static let format: StaticString = "broadcast"
    package static let version = 1
    package static let byteLimit = 1024

    package func encode(to state: inout JSONText) {
        if let sequence { state.member("sequence", number: sequence) }
        state.member("run", number: run)
        state.beginObject("seen")
        state.member("uptime", number: seen.uptime)
        state.member("wall", number: seen.wall)
        state.member("boot", hex: seen.boot)
        state.endObject()
        state.member("ends", numbers: ends)
        state.member("running", bool: isRunning)
        state.member("stopped", bool: isStopped)
        state.member("pending", number: pending.rawValue)
        if learnt != LearntRates() {
            // In the order of push services, -1 where nothing is known.
            state.member(
                "rates", numbers: PushService.allCases.map { learnt.rates[$0] ?? -1 })
        }
        guard let heartbeat else { return }
        state.beginObject("heartbeat")
        state.member("interval", number: heartbeat.interval)
        state.member("due", number: heartbeat.due)
        state.member("end", number: heartbeat.end)
        state.endObject()
    }

    package init(decoding state: inout StateObject) throws(StateDamage) {
        var clock = try state.object("seen")
        seen = ClockReading(
            wall: try clock.integer("wall"), uptime: try clock.integer("uptime"),
            boot: try clock.hex("boot", count: 16))
        sequence = state.contains("sequence") ? try state.unsigned("sequence") : nil
        run = try state.unsigned("run")
        ends = try state.integers("ends")
        isRunning = try state.bool("running")
        isStopped = try state.bool("stopped")
        let reasons = try state.integer("pending", in: 0...Int(BroadcastReasons.all.rawValue))
        pending = BroadcastReasons(rawValue: UInt8(reasons))
        if state.contains("heartbeat") {
            var moments = try state.object("heartbeat")
            heartbeat = Heartbeat(
                interval: try moments.integer("interval"), due: try moments.integer("due"),
                end: try moments.integer("end"))
        }
        if state.contains("rates") {
            let numbers = try state.integers("rates")
            let rates = zip(PushService.allCases, numbers).filter { $0.1 != -1 }
            guard numbers.count == PushService.allCases.count, !rates.isEmpty,
                let learnt = LearntRates(rates: Dictionary(uniqueKeysWithValues: rates))
            else { throw StateDamage() }
            self.learnt = learnt
        }
        guard isPlausible else { throw StateDamage() }
    }

    /// Whether a schedule could have written this: other numbers would delay or hurry it.
    private var isPlausible: Bool {
        guard ends.count <= 3, ends.allSatisfy({ $0 <= seen.uptime }), ends == ends.sorted(),
            !isRunning || !ends.isEmpty, seen.uptime >= 0, run <= 1 << 53
        else { return false }
        guard let heartbeat else { return true }
        return BroadcastSchedule.heartbeatSeconds.contains(heartbeat.interval)
            && heartbeat.end - heartbeat.interval <= heartbeat.due && heartbeat.due < heartbeat.end
            && heartbeat.end <= seen.uptime + 2 * heartbeat.interval
    }
}
