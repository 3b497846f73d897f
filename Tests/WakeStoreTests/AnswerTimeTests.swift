import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeStore

@Suite("Answers leave at their time", .timeLimit(.minutes(5)))
struct AnswerTimeTests {
    private static let tick = Duration.milliseconds(60)

    @Test("none leaves before its tick, whatever was asked and found; what is prepared is, before")
    func ticks() async throws {
        let place = StorePlace()
        try await place.create(registrations: 3)
        let store = try place.openWithTick(Self.tick)
        try await store.rotated()
        let operations: [StoreOperation] = [
            .register(Known.token(1), Known.pushToken(1)),
            .register(Known.token(1), Known.pushToken(1)),
            .register(Known.token(9), Known.pushToken(9)),
            .read(Known.token(1)), .read(Known.token(7)),
            .delete(Known.token(1)), .delete(Known.token(7)),
        ]
        for operation in operations {
            let start = ContinuousClock.now
            let (prepared, left) = await withCheckedContinuation { continuation in
                store.perform(
                    operation,
                    preparing: { _ in
                        let prepared = ContinuousClock.now
                        return { continuation.resume(returning: (prepared, ContinuousClock.now)) }
                    })
            }
            #expect(left - start >= Self.tick && prepared <= left)
        }
        await store.close()
    }

    @Test("a store that closes lets every answer leave first")
    func close() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try place.openWithTick(Self.tick)
        let answers = Mutex(0)
        for number in 0..<50 {
            store.submit(.register(Known.token(number), Known.pushToken(1))) { answer in
                answers.withLock { $0 += answer == .done ? 1 : 0 }
            }
        }
        await store.close()
        #expect(answers.withLock { $0 } == 50)
    }
}

extension StorePlace {
    fileprivate func openWithTick(_ tick: Duration) throws -> Store {
        var configuration = configuration
        configuration.answerTick = tick
        return try Store(opening: configuration)
    }
}
