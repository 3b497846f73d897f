import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeStore

@Suite("New rows", .timeLimit(.minutes(5)))
struct NewRowTests {
    @Test("alone are asked about: renewals, moves, reads and deletes of either generation are not")
    func asked() async throws {
        let place = StorePlace()
        try await place.create(registrations: 2)
        let store = try Store(opening: place.configuration)
        let questions = Mutex(0)
        func register(
            _ number: Int, _ version: Int = 1, allowed: Bool = false
        ) async -> StoreAnswer {
            await store.ask(
                .register(
                    Known.token(number), Known.pushToken(number, version),
                    ifNew: {
                        questions.withLock { $0 += 1 }
                        return allowed
                    }))
        }
        // Both are in the current generation, then one of them in the previous.
        #expect(await register(0) == .done)
        #expect(await register(1, 2) == .done)
        try await store.rotated()
        #expect(await register(0) == .done)
        #expect(await register(0, 3) == .done)
        #expect(questions.withLock { $0 } == 0)
        #expect(await register(7) == .notAdmitted)
        #expect(await store.stored(7) == nil)
        #expect(await register(7, allowed: true) == .done)
        #expect(await register(7) == .done)
        #expect(questions.withLock { $0 } == 2)
        // What was dropped by two rotations, or deleted, is new again.
        try await store.rotated()
        #expect(await register(1) == .notAdmitted)
        #expect(await store.ask(.delete(Known.token(0))) == .done)
        #expect(await register(0) == .notAdmitted)
        #expect(questions.withLock { $0 } == 4)
        #expect(await store.stored(7)?.token == Known.pushToken(7))
        await store.close()
    }

    @Test("that are refused leave the others of their batch as they are")
    func batch() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        let (answers, sink) = AsyncStream.makeStream(of: (Int, StoreAnswer).self)
        let release = await store.held()
        for number in 0..<100 {
            store.submit(
                .register(
                    Known.token(number), Known.pushToken(number),
                    ifNew: { number.isMultiple(of: 3) })
            ) { sink.yield((number, $0)) }
        }
        release()
        var iterator = answers.makeAsyncIterator()
        for _ in 0..<100 {
            let (number, answer) = try #require(await iterator.next())
            #expect(answer == (number.isMultiple(of: 3) ? .done : .notAdmitted))
        }
        #expect(await store.page(of: .current, after: [])?.rows.count == 34)
        await store.close()
    }
}
