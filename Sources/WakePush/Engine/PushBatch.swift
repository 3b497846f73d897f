import WakeSystem

/// Many pushes for the engine, their tokens in one arena.
package struct PushBatch: Sendable, Redacted {
    private struct Push {
        let reference: UInt64
        /// The end of the token, and the start of the next.
        let end: UInt32
    }

    private var tokens: [UInt8] = []
    private var pushes: [Push] = []

    /// Reserves memory for a number of pushes with tokens of about this size.
    package init(capacity: Int = 0, tokenBytes: Int = 0) {
        tokens.reserveCapacity(capacity * tokenBytes)
        pushes.reserveCapacity(capacity)
    }

    package var count: Int { pushes.count }

    /// Adds a push: the bytes that complete its path or body, and a number for its outcome.
    package mutating func append(_ token: Span<UInt8>, reference: UInt64) {
        append(reference: reference) { $0.append(span: token) }
    }

    /// The same with bytes that are written in place: nothing to wipe is left beside them.
    package mutating func append(reference: UInt64, _ write: (inout [UInt8]) -> Void) {
        let start = tokens.count
        write(&tokens)
        precondition(
            tokens.count - start <= RequestTemplate.tokenBytes, "a push token longer than allowed")
        pushes.append(Push(reference: reference, end: UInt32(tokens.count)))
    }

    package mutating func append(_ token: [UInt8], reference: UInt64) {
        append(token.span, reference: reference)
    }

    func reference(_ index: Int) -> UInt64 { pushes[index].reference }

    func withToken(_ index: Int, _ body: (Span<UInt8>) -> Void) {
        let start = index == 0 ? 0 : Int(pushes[index - 1].end)
        body(tokens.span.extracting(start..<Int(pushes[index].end)))
    }

    mutating func wipe() { tokens.wipe() }
}

/// A queue of batches; each is wiped once its last push has left.
struct PushQueue {
    /// The first batch, and the index of its next push.
    private var current = PushBatch()
    private var next = 0
    private var waiting = Deque<PushBatch>()
    private(set) var count = 0

    mutating func append(_ batch: PushBatch) {
        guard batch.count > 0 else { return }
        count += batch.count
        if next == current.count {
            current = batch
            next = 0
        } else {
            waiting.append(batch)
        }
    }

    mutating func push(to connection: inout PushConnection) {
        current.withToken(next) { connection.push(current.reference(next), token: $0) }
        advance()
    }

    mutating func fail(_ failure: PushFailure, into outcomes: inout PushOutcomes) {
        while count > 0 {
            outcomes.append(current.reference(next), .failed(failure))
            advance()
        }
    }

    private mutating func advance() {
        next += 1
        count -= 1
        guard next == current.count else { return }
        current.wipe()
        guard let batch = waiting.popFirst() else { return }
        current = batch
        next = 0
    }
}
