/// Batches that wait, first in, first out; a batch is wiped and dropped once its last push has left.
struct PushQueue {
    private var batches: [PushBatch] = []
    private var first = 0
    private var order = 0
    private(set) var count = 0

    mutating func append(_ batch: PushBatch) {
        guard batch.count > 0 else { return }
        count += batch.count
        batches.append(batch)
    }

    /// Gives the next push to `connection`.
    mutating func push(to connection: inout PushConnection) {
        connection.push(reference, token: batches[first].token(order))
        advance()
    }

    /// Gives up all that waits.
    mutating func fail(_ failure: PushFailure, into outcomes: inout PushOutcomes) {
        while count > 0 {
            outcomes.append(reference, .failed(failure))
            advance()
        }
    }

    private var reference: UInt64 {
        UInt64(batches[first].id) << 32 | UInt64(order)
    }

    private mutating func advance() {
        order += 1
        count -= 1
        guard order == batches[first].count else { return }
        batches[first].wipe()
        order = 0
        first += 1
        guard first == batches.count || first >= 64 else { return }
        batches.removeFirst(first)
        first = 0
    }
}
