import Synchronization
import Testing
import WakeSystem

@Suite("Threads, mailboxes and events", .timeLimit(.minutes(5)))
struct ThreadTests {
    @Test("a mailbox notifies once per burst, keeps the order and refuses what does not fit")
    func mailbox() {
        let notified = Atomic(0)
        let mailbox = Mailbox<Int>(capacity: 4) { notified.add(1, ordering: .relaxed) }
        #expect(mailbox.post(1) == .posted && mailbox.post(2, weight: 2) == .posted)
        #expect(mailbox.post(3, weight: 2) == .full && mailbox.post(3) == .posted)
        #expect(notified.load(ordering: .relaxed) == 1)
        #expect(mailbox.take(limit: 2) == [1, 2] && mailbox.take() == [3] && mailbox.weight == 4)
        #expect(mailbox.post(4) == .full)
        mailbox.release(4)
        #expect(mailbox.post(4) == .posted && notified.load(ordering: .relaxed) == 2)
        mailbox.close()
        #expect(mailbox.isClosed && mailbox.post(5) == .closed && mailbox.take() == [4])
        #expect(notified.load(ordering: .relaxed) == 3)
    }

    @Test("draining gives capacity back, and ends when the mailbox is closed and empty")
    func drain() {
        let mailbox = Mailbox<Int>(capacity: 3) {}
        #expect(mailbox.drain() == [])
        for number in 1...3 { mailbox.post(number) }
        #expect(mailbox.drain(limit: 2) == [1, 2] && mailbox.weight == 1)
        mailbox.post(4)
        mailbox.close()
        #expect(mailbox.drain(limit: 2) == [3, 4] && mailbox.drain() == nil)
    }

    @Test("what many threads post is taken by one, all of it")
    func manyThreads() throws {
        let posted = Semaphore()
        let mailbox = Mailbox<Int> { posted.post() }
        for thread in 0..<4 {
            try SystemThread.start {
                for number in 0..<1000 { mailbox.post(thread * 1000 + number) }
            }
        }
        var seen: Set<Int> = []
        while seen.count < 4000 {
            posted.wait()
            for message in mailbox.take() { #expect(seen.insert(message).inserted) }
        }
    }

    @Test("a signal before the wait is kept, as one; a cancelled wait returns")
    func event() async {
        let event = AsyncEvent()
        event.signal()
        event.signal()
        await event.wait()
        let waiter = Task { await event.wait() }
        event.signal()
        await waiter.value
        let cancelled = Task { await event.wait() }
        cancelled.cancel()
        await cancelled.value
        await event.wait(orUntil: {})
    }

    @Test("a failing call has its number and its description")
    func systemError() throws {
        #expect(try SystemError.check(3) == 3)
        #expect(throws: SystemError(22)) { try SystemError.check(-22) }
        #expect(SystemError(22).reason == "Invalid argument")
        #expect(throws: FileError(.open, 2)) {
            try mapError({ FileError(.open, $0.number) }) { () throws(SystemError) in
                throw SystemError(2)
            }
        }
    }
}
