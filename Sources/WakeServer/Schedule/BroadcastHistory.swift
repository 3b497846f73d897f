package import WakePush

/// What the schedule must remember across restarts: `data/broadcast`. Numbers about the service;
/// nothing about people.
///
/// Moments are seconds of uptime of one start of the machine, that of `seen`. A moment of an
/// earlier start is moved into the present one by `move(to:)`, as if only that much time had passed
/// as is certain; it then may be negative.
///
/// What order of writing lets no crash lose a broadcast or repeat one:
/// 1. start: `RoundRecord.create`, then this with `started`, then the first push;
/// 2. end: this with `ended`, then `RoundRecord.remove`;
/// 3. at a restart a record goes on when `isRunning` and its round is `round`, any other is
///    removed. When it `isRunning` and there is no such record, the schedule is told `lost`.
package struct BroadcastHistory: Sendable, Equatable {
    /// One random moment in each interval.
    package struct Heartbeat: Sendable, Equatable {
        /// Seconds; what the settings said when this was drawn.
        let interval: Int
        /// Uptime; in the last `interval` seconds before `end`.
        var due: Int
        /// Uptime; where the next interval begins.
        var end: Int
    }

    /// The clock when this was true.
    package internal(set) var seen: ClockReading
    /// Sequence of the last broadcast; nil before the first.
    package internal(set) var sequence: UInt64?
    /// Number of the last broadcast, 0 before the first.
    package internal(set) var round: UInt64 = 0
    /// Of the last three broadcasts, the older first: the uptime after which no push of theirs
    /// left. Of one that is running, its start.
    var ends: [Int] = []
    /// The last broadcast has not ended.
    package internal(set) var isRunning = false
    /// The program stopped with everything in flight settled: a resume repeats nothing.
    var isStopped = false
    /// What is asked for and not yet started.
    package internal(set) var pending: BroadcastReasons = []
    var heartbeat: Heartbeat?

    /// Nothing has ever been sent.
    package init(_ now: ClockReading) {
        seen = now
    }

    /// There is a file and it cannot be read: three broadcasts may have ended just now. Costs at
    /// most an hour of patience.
    /// - Parameters:
    ///   - header: of the record of a round, if there is one: it goes on.
    package static func unknown(
        _ now: ClockReading, resuming header: RoundHeader? = nil
    ) -> BroadcastHistory {
        var history = BroadcastHistory(now)
        history.ends = [Int](repeating: now.uptime, count: 3)
        guard let header else { return history }
        history.isRunning = true
        history.round = header.round
        history.sequence = header.sequence
        return history
    }

    /// Moves every moment so that it is as far from `now` as is certain.
    ///
    /// Within one start of the machine uptime is right, whatever the wall clock says. Across starts
    /// at least the uptime of the present one has passed, unless the file has come from another
    /// machine: so the lesser of that and what the wall clock says, and nothing when the wall clock
    /// was set back. A wall clock set forward by a year therefore changes nothing, one set back
    /// costs at most an hour's patience.
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
