/// Time on a fetch thread. `patience` stands still while a sink works, because that time is ours
/// and not the server's.
final class FetchClock {
    private let start = SuspendingClock.now
    private var spentInSinks = Duration.zero

    /// Time the machine was suspended does not count either.
    var now: Duration { start.duration(to: SuspendingClock.now) }

    /// `now` without the time spent in sinks.
    var patience: Duration { now - spentInSinks }

    func excluding(_ work: () -> FetchVerdict) -> FetchVerdict {
        let before = now
        defer { spentInSinks += now - before }
        return work()
    }
}
