import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("Whether the writer answers", .timeLimit(.minutes(5)))
struct AnsweringTests {
    @Test("a writer that hangs answers once it goes on, a closed one never")
    func hanging() async throws {
        let place = StorePlace()
        try await place.create()
        let gate = Semaphore()
        let isHanging = AsyncEvent()
        var configuration = place.configuration
        configuration.observe = { _ in
            isHanging.signal()
            gate.wait()
        }
        let store = try Store(opening: configuration)
        #expect(await store.isAnswering())
        store.submit(.delete(Known.token(1))) { _ in }
        await isHanging.wait()
        let hasAnswered = Atomic(false)
        async let answer = {
            let answer = await store.isAnswering()
            hasAnswered.store(true, ordering: .relaxed)
            return answer
        }()
        // Others of the cooperative pool go on meanwhile.
        for _ in 0..<1_000 { await Task.yield() }
        let isEarly = hasAnswered.load(ordering: .relaxed)
        #expect(!isEarly)
        gate.post()
        #expect(await answer)
        await store.close()
        #expect(await !store.isAnswering())
    }
}
