package import WakeModel
package import WakePush

/// Where a round stands: for `GET /v1/broadcast`, the operator's terminal, and metrics. Counts and
/// words of ours only.
package struct BroadcastReport: Sendable, Equatable {
    /// 0: none yet.
    package var round: UInt64 = 0
    package var isRunning = false
    /// The feed's sequence when it began.
    package var sequence: UInt64 = 0
    /// How far the walk through the ids has come.
    package var permille = 0
    package var counters = RoundCounters()
    /// When this run of the program took up the round.
    package var startPermille = 0
    package var startCounters = RoundCounters()
    /// Every registration had its turn.
    package var isComplete = false
    /// The store could not be read.
    package var isCutShort = false
    /// Of the rows of a complete round, those of the previous generation; nil when an earlier run
    /// of the program read a part of them.
    package var previousRows: UInt64?
    /// Of the pushes given up, by the last cause.
    package var causes: [RetryCause: Int] = [:]
    /// Push services whose "gone" is no longer believed in this round.
    package var braked: Set<PushService> = []
    /// Gateways that stopped, and what to do about it.
    package var stopped: [PushService: String] = [:]

    package init() {}

    /// Of a round that begins, or goes on.
    init(_ record: RoundRecord) {
        round = record.header.round
        sequence = record.header.sequence
        isRunning = true
        counters = record.counters
        startCounters = record.counters
        permille = Int(record.done.progress(previousRows: 0, currentRows: 1) * 1000)
        startPermille = permille
    }

    /// For the terminal.
    package var progress: BroadcastProgress {
        let milliseconds = counters.milliseconds &- startCounters.milliseconds
        return BroadcastProgress(
            fraction: isComplete ? 1 : Double(permille) / 1000, counters: counters,
            seconds: Double(milliseconds) / 1000,
            since: (Double(startPermille) / 1000, startCounters))
    }

    /// One object for scripts, and for `reveille broadcast`.
    func encode() -> [UInt8] {
        var text = JSONText(capacity: 1024)
        text.beginObject()
        text.member("round", number: round)
        text.member("running", bool: isRunning)
        text.member("complete", bool: isComplete)
        text.member("cutShort", bool: isCutShort)
        text.member("sequence", number: sequence)
        text.member("milliseconds", number: counters.milliseconds)
        progress.addMembers(to: &text)
        text.beginObject("causes")
        for cause in RetryCause.allCases {
            text.member(cause.word, number: causes[cause] ?? 0)
        }
        text.endObject()
        text.beginObject("brakes")
        for service in PushService.allCases {
            text.member(service.word, bool: braked.contains(service))
        }
        text.endObject()
        text.beginObject("stopped")
        for service in PushService.allCases {
            guard let message = stopped[service] else { continue }
            text.member(service.word, string: message)
        }
        text.endObject()
        // A line for those who watch; they need not know the rest.
        text.member("line", string: progress.line)
        text.endObject()
        return text.bytes
    }
}
