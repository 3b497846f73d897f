import TestSupport
import Testing
import WakeHTTP

@Suite("The deadline table")
struct DeadlineTableTests {
    @Test("gives what is due, once")
    func expiry() {
        var table = DeadlineTable(grain: 1)
        table.set(3, to: 30)
        table.set(0, to: 10)
        #expect(table.expired(at: 9) == [])
        #expect(table.expired(at: 10) == [0])
        #expect(table.expired(at: 29) == [])
        #expect(table.expired(at: 31) == [3])
        #expect(table.expired(at: 1_000) == [])
        #expect(table.next == DeadlineTable.never)
    }

    @Test("forgets what was cleared, and follows what was moved")
    func changes() {
        var table = DeadlineTable(grain: 1)
        table.set(1, to: 10)
        table.set(2, to: 10)
        table.clear(1)
        table.set(2, to: 20)
        #expect(table.expired(at: 15) == [])
        #expect(table.expired(at: 20) == [2])
        table.clear(99)
    }

    @Test("waits until the next deadline, rounded up, or for ever")
    func waiting() {
        var table = DeadlineTable(grain: 1)
        #expect(table.wait(from: 0) == -1)
        table.set(0, to: 1_500_000)
        #expect(table.wait(from: 0) == 2)
        #expect(table.wait(from: 1_500_000) == 0)
        #expect(table.wait(from: 2_000_000) == 0)
        table.set(0, to: DeadlineTable.never - 1)
        _ = table.expired(at: 1_500_000)
        #expect(table.wait(from: 1_500_000) == 60_000)
    }

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
