private import Synchronization
import WakeModel

/// What waits for the writer.
enum Request: Sendable {
    case operation(StoreOperation, answer: @Sendable (StoreAnswer) -> Void)
    case removal(
        Generation, id: [UInt8], sealed: [UInt8], answer: @Sendable (StoreAnswer) -> Void)
    case page(
        Generation, after: [UInt8], limit: Int, answer: @Sendable (RawPage?) -> Void)
    /// The next slice of the generation that is to be dropped: the writer's own.
    case expiry(rows: Int)
    case rotation(answer: @Sendable (RotationOutcome) -> Void)
    case compaction(answer: @Sendable (Compaction) -> Void)
    case survey(answer: @Sendable (StoreSurvey?) -> Void)

    /// Part of a transaction; everything else is done between two.
    var isOperation: Bool {
        switch self {
        case .operation, .removal, .expiry: true
        case .page, .rotation, .compaction, .survey: false
        }
    }

    /// - Parameter answer: for what is no operation it can only be bad news.
    func answer(_ answer: StoreAnswer) {
        switch self {
        case .operation(_, let reply), .removal(_, _, _, let reply): reply(answer)
        case .page(_, _, _, let reply): reply(nil)
        case .expiry: break
        case .rotation(let reply): reply(.failed(.unavailable))
        case .compaction(let reply): reply(.failed)
        case .survey(let reply): reply(nil)
        }
    }

    /// The store has failed.
    func refuse() { if !isOperation { answer(.unavailable) } }
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
    /// - Parameter waits: false to go on with something else when nothing does.
    /// - Returns: up to `Limits.batchOperations` requests in order of arrival; nil once the mailbox
    ///   is closed and empty.
    func take(waits: Bool = true) -> [Request]? {
        while true {
            let (batch, isClosed) = state.withLock { state -> ([Request], Bool) in
                (Self.next(&state.waiting), state.isClosed)
            }
            if !batch.isEmpty { return batch }
            if isClosed { return nil }
            if !waits { return [] }
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
