import TestSupport
import Testing
import WakeAudit

@Suite("Stores that did nothing wrong", .timeLimit(.minutes(5)))
struct CleanTests {
    @Test("100 files with different histories: not one false alarm", arguments: 0..<10)
    func histories(_ seed: Int) async throws {
        var random = SeededRandom(seed: UInt64(seed))
        let place = StorePlace()
        try StoreHistory.create(place)
        // One of them grows to some 10,000 rows.
        let size = seed == 0 ? 9000 : [0, 6, 30, 200, 700][seed % 5]
        for step in 0..<10 {
            try await take(step, place, size, &random)
            let report = try Audit(
                path: place.data, policy: AuditSite.policy,
                keyFile: place.keys
            ).run()
            #expect(report.isClean, "seed \(seed), step \(step): \(report.text)")
        }
    }

    /// Something that happens to a store in its life.
    private func take(
        _ step: Int, _ place: StorePlace, _ size: Int, _ random: inout SeededRandom
    ) async throws {
        func range(_ most: Int) -> Range<Int> {
            let first = Int.random(in: 0...max(1, size), using: &random)
            return first..<first + Int.random(in: 0...max(1, most), using: &random)
        }
        switch step == 0 ? 0 : Int.random(in: 0..<9, using: &random) {
        case 0: try await StoreHistory.run(place, [.register(0..<size)])
        case 1: try await StoreHistory.run(place, [.delete(range(size))])
        case 2: try await StoreHistory.run(place, [.register(range(size / 2)), .delete(range(9))])
        case 3: try await StoreHistory.run(place, [.rotate, .register(range(size))])
        case 4:
            try await StoreHistory.run(
                place, (0..<12).flatMap { _ in [.delete(range(30)), .register(range(20))] })
        case 5: try await StoreHistory.run(place, [.rotate])
        case 6:
            try await StoreHistory.run(
                place, [.rotate, .register(range(size)), .delete(range(30)), .rotate])
        case 7:
            try await StoreHistory.run(
                place,
                [.register(range(size / 3)), .rotate, .delete(range(size)), .rotate, .rotate])
        default: try await StoreHistory.run(place, [.delete(0..<2 * size), .register(range(40))])
        }
    }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
