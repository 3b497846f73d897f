import TestSupport
import Testing
import WakeHTTP

@Suite("The deadline table")
struct DeadlineTableTests {
    @Test("agrees with a plain search, within its grain", arguments: 0..<20)
    func model(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var table = DeadlineTable(grain: 5)
        var model: [Int: UInt64] = [:]
        var now: UInt64 = 0
        for _ in 0..<2_000 {
            let slot = Int.random(in: 0..<50, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                table.clear(slot)
                model[slot] = nil
            case 1:
                now += UInt64.random(in: 0...20, using: &random)
                let due = Set(table.expired(at: now))
                #expect(due.allSatisfy { (model[$0] ?? .max) <= now })
                #expect(model.allSatisfy { $0.value + 5 > now || due.contains($0.key) })
                for slot in due { model[slot] = nil }
            default:
                let deadline = now + UInt64.random(in: 0...60, using: &random)
                table.set(slot, to: deadline)
                model[slot] = deadline
            }
        }
    }
}
