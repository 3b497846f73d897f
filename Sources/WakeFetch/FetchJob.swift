import Synchronization

/// One fetch on its way to the fetch thread: what to do, and whom to tell.
struct FetchJob: Sendable {
    let id: UInt64
    let request: FetchRequest
    let onHead: @Sendable (FetchResponse) -> FetchVerdict
    let sink: @Sendable (Span<UInt8>) -> FetchVerdict
    let ticket: FetchTicket
    let continuation: CheckedContinuation<Result<FetchResponse, FetchError>, Never>

    func finish(_ result: Result<FetchResponse, FetchError>) {
        continuation.resume(returning: result)
    }
}

/// Set when the task is cancelled. A flag beside the mailbox, because cancellation may overtake
/// the job it belongs to, and because a running sink must be followed by no other.
final class FetchTicket: Sendable {
    private let cancelled = Atomic(false)

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    func cancel() {
        cancelled.store(true, ordering: .releasing)
    }
}
