/// Batches that wait, first in, first out; a batch is wiped and dropped once its last push has
/// left.
struct PushQueue {
    /// The batch whose pushes leave now, and which is next.
    private var current = PushBatch(id: 0)
    private var order = 0
    private var waiting: [PushBatch] = []
    private var first = 0
    private(set) var count = 0

    mutating func append(_ batch: PushBatch) {
        guard batch.count > 0 else { return }
        count += batch.count
        if order == current.count {
            current = batch
            order = 0
        } else {
            waiting.append(batch)
        }
    }

    /// Gives the next push to `connection`.
    mutating func push(to connection: inout PushConnection) {
        connection.push(reference, token: current.tokens.span.extracting(current.place(order)))
        advance()
    }

    /// Gives up all that waits.
    mutating func fail(_ failure: PushFailure, into outcomes: inout PushOutcomes) {
        while count > 0 {
            outcomes.append(reference, .failed(failure))
            advance()
        }
    }

    private var reference: UInt64 { UInt64(current.id) << 32 | UInt64(order) }

    private mutating func advance() {
        order += 1
        count -= 1
        guard order == current.count else { return }
        current.wipe()
        guard first < waiting.count else { return }
        current = waiting[first]
        order = 0
        waiting[first] = PushBatch(id: 0)
        first += 1
        guard first == waiting.count || first >= 64 else { return }
        waiting.removeFirst(first)
        first = 0
    }
}
