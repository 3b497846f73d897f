private import Synchronization
import WakeModel

/// What waits for the writer.
enum Request: Sendable {
    case operation(StoreOperation, answer: @Sendable (StoreAnswer) -> Void)
    case removal(
        Generation, id: [UInt8], sealed: [UInt8], answer: @Sendable (StoreAnswer) -> Void)
    case page(
        Generation, after: [UInt8], limit: Int, answer: @Sendable (RawPage?) -> Void)

    /// - Parameter answer: for a page it can only be bad news.
    func answer(_ answer: StoreAnswer) {
        switch self {
        case .operation(_, let reply), .removal(_, _, _, let reply): reply(answer)
        case .page(_, _, _, let reply): reply(nil)
        }
    }
}

/// Rows as they are stored, and what opens them: so that the caller does it, not the writer.
struct RawPage: Sendable {
    let rows: [(id: [UInt8], sealed: [UInt8])]
    let keys: GenerationKeys
}

/// The bounded queue between all callers and the one writer. Whatever arrives while a batch is
/// being flushed makes up the next one: no timer, no tuning.
final class Mailbox: Sendable {
    private struct State {
        var waiting: [Request] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let bell = Bell()

    /// Any thread; never blocks for longer than an append.
    /// - Returns: nil when accepted, otherwise what to answer at once.
    func post(_ request: Request) -> StoreAnswer? {
        let (refusal, wasEmpty) = state.withLock { state -> (StoreAnswer?, Bool) in
            if state.isClosed { return (.unavailable, false) }
            if state.waiting.count >= Limits.queuedOperations { return (.overloaded, false) }
            state.waiting.append(request)
            return (nil, state.waiting.count == 1)
        }
        if wasEmpty { bell.ring() }
        return refusal
    }

    /// The writer's side: blocks until something waits.
    /// - Returns: up to `Limits.batchOperations` requests in order of arrival; nil once the mailbox
    ///   is closed and empty.
    func take() -> [Request]? {
        while true {
            let (batch, isClosed) = state.withLock { state -> ([Request], Bool) in
                (Self.next(&state.waiting), state.isClosed)
            }
            if !batch.isEmpty { return batch }
            if isClosed { return nil }
            bell.wait()
        }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
    }

    private static func next(_ waiting: inout [Request]) -> [Request] {
        guard waiting.count > Limits.batchOperations else {
            let batch = waiting
            waiting = []
            waiting.reserveCapacity(Limits.batchOperations)
            return batch
        }
        let batch = Array(waiting[..<Limits.batchOperations])
        waiting.removeFirst(Limits.batchOperations)
        return batch
    }
}
