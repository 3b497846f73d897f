import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("Any interleaving agrees with a dictionary", .timeLimit(.minutes(5)))
struct PropertyTests {
    private enum Expected: Sendable {
        case done
        /// A version, 0 for nothing.
        case stored(Int, token: Int)
    }

    @Test("3,000 operations on 20 tokens, sent without waiting, with restarts in between")
    func dictionary() async throws {
        let place = StorePlace()
        try await place.create()
        var random = SystemRandomNumberGenerator()
        var model: [Int: Int] = [:]
        for _ in 0..<6 {
            let store = try Store(opening: place.configuration)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<500 {
                    let (operation, expected) = step(&model, &random)
                    // Operations of one caller take effect in the order it sent them.
                    let answers = AsyncStream.makeStream(of: StoreAnswer.self)
                    store.submit(operation) { answers.continuation.yield($0) }
                    group.addTask {
                        var iterator = answers.stream.makeAsyncIterator()
                        let answer = try #require(await iterator.next())
                        check(answer, expected)
                    }
                }
                try await group.waitForAll()
            }
            for number in 0..<20 {
                check(
                    await store.ask(.read(Known.token(number))),
                    .stored(model[number] ?? 0, token: number))
            }
            let rows = try #require(await store.page(of: .current, after: [])).rows
            #expect(rows.count == model.count)
            await store.close()
        }
    }

    private func step(
        _ model: inout [Int: Int], _ random: inout SystemRandomNumberGenerator
    ) -> (StoreOperation, Expected) {
        let number = Int.random(in: 0..<20, using: &random)
        let token = Known.token(number)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4:
            let version = Int.random(in: 1...5, using: &random)
            model[number] = version
            return (.register(token, Known.pushToken(number, version)), .done)
        case 4..<7:
            model[number] = nil
            return (.delete(token), .done)
        default:
            return (.read(token), .stored(model[number] ?? 0, token: number))
        }
    }

    private func check(_ answer: StoreAnswer, _ expected: Expected) {
        switch (answer, expected) {
        case (.done, .done): break
        case (.stored(let stored), .stored(let version, let token)):
            let pushToken = version == 0 ? nil : Known.pushToken(token, version)
            #expect(stored?.token == pushToken)
        default:
            Issue.record("an answer of another kind")
        }
    }
}
