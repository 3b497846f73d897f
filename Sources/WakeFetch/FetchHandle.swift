import Synchronization

/// A fetch that was started, for whoever may want to end it early.
package struct FetchHandle: Sendable {
    let id: UInt64
    let ticket = FetchTicket()
    let lane: FetchLane

    init(id: UInt64, lane: FetchLane) {
        self.id = id
        self.lane = lane
    }

    /// Ends the fetch as `cancelled` within milliseconds, unless it has ended; from any thread.
    package func cancel() {
        ticket.cancel()
        lane.cancel(id)
    }
}

/// Set when a fetch is cancelled. A flag beside the mailbox, because cancellation may overtake the
/// job it belongs to, and because a running sink must be followed by no other.
final class FetchTicket: Sendable {
    private let cancelled = Atomic(false)

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    func cancel() {
        cancelled.store(true, ordering: .releasing)
    }
}
