import Synchronization
import WakeModel

/// What the relay counts: sums over all installations, nothing of one.
final class RelayCounters: Sendable {
    let accepted = Atomic<Int>(0)
    let gone = Atomic<Int>(0)
    let retried = Atomic<Int>(0)
    /// Left to the installation, for a gateway that stopped or is not there.
    let stopped = Atomic<Int>(0)
    private let refused = Mutex<[Problem: Int]>([:])

    func count(_ counts: RelayBook.Counts) {
        accepted.add(counts.accepted, ordering: .relaxed)
        gone.add(counts.gone, ordering: .relaxed)
        retried.add(counts.retried, ordering: .relaxed)
        stopped.add(counts.stopped, ordering: .relaxed)
    }

    func refuse(_ problem: Problem) {
        refused.withLock { $0[problem, default: 0] += 1 }
    }

    /// Refused requests by reason.
    var refusals: [Problem: Int] { refused.withLock { $0 } }
}
