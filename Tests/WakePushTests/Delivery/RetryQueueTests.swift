import TestSupport
import Testing

@testable import WakePush

@Suite("The retry queue")
struct RetryQueueTests {
    private func entry() throws -> RetryQueue.Entry { RetryQueue.Entry(wakeUp: try WakeUp(7)) }

    @Test("wake-ups come out in the order in which they went in")
    func order() throws {
        var queue = RetryQueue()
        queue.append(try WakeUp.numbered(0..<5))
        queue.append(try entry())
        #expect(queue.readyCount == 6 && queue.readyEntry(5).wakeUp.reference == 7)
        let references = (0..<6).map { _ in queue.popFirst()?.wakeUp.reference }
        #expect(references == [0, 1, 2, 3, 4, 7] && queue.isEmpty)
    }

    @Test("what waits for a time is not ready before it, and within a tenth of a second after")
    func delayed() throws {
        for wait in [1, 99, 100, 101, 500, 12_345] as [UInt64] {
            for now in [0, 1, 50, 99, 100, 1234] as [UInt64] {
                var queue = RetryQueue()
                queue.append(try entry(), after: wait, now: now)
                #expect(queue.delayedCount == 1 && !queue.isEmpty)
                queue.advance(now: now + wait - 1)
                #expect(queue.readyCount == 0)
                queue.advance(now: now + wait + 99)
                #expect(queue.readyCount == 1 && queue.delayedCount == 0)
            }
        }
    }

    @Test("a wait of nothing is ready at once")
    func atOnce() throws {
        var queue = RetryQueue()
        queue.append(try entry(), after: 0, now: 5)
        #expect(queue.readyCount == 1 && queue.delayedCount == 0)
    }

    @Test("all that waits can be taken at once, ready or not")
    func removeAll() throws {
        var queue = RetryQueue()
        queue.append(try WakeUp.numbered(0..<3))
        queue.append(try entry(), after: 100, now: 0)
        #expect(Set(queue.removeAll().map(\.wakeUp.reference)) == [0, 1, 2, 7] && queue.isEmpty)
    }
}
