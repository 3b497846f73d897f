import Testing

@testable import WakeServer

@Suite("Counts for the public")
struct RoundedCountTests {
    /// What is told of a count, for each of the ten draws.
    private func outcomes(_ exact: Int) -> [Int?] {
        (0..<RoundedCount.step).map { RoundedCount(exact, draw: $0).value }
    }

    @Test("what is under 20 is not told, whatever is drawn")
    func suppressed() {
        for exact in 0..<20 { #expect(outcomes(exact).allSatisfy { $0 == nil }, "\(exact)") }
        #expect(RoundedCount(19, draw: 0).text == "fewer than 20")
    }

    @Test("what is told is one of the two nearest tens, and on average the count itself")
    func rounding() {
        for exact in 29...5_000 {
            let told = outcomes(exact).compactMap(\.self)
            #expect(told.count == 10, "\(exact)")
            #expect(told.allSatisfy { $0 % 10 == 0 && abs($0 - exact) < 10 }, "\(exact)")
            #expect(told.reduce(0, +) == exact * 10, "\(exact)")
        }
        for exact in 20..<29 {
            #expect(outcomes(exact).allSatisfy { [nil, 20, 30].contains($0) }, "\(exact)")
        }
    }

    @Test("one person more or less changes the odds of whatever is told by at most one in ten")
    func onePerson() {
        for exact in 0...5_000 {
            var odds: [Int?: Int] = [:]
            for told in outcomes(exact) { odds[told, default: 0] += 1 }
            for told in outcomes(exact + 1) { odds[told, default: 0] -= 1 }
            // Total variation: half of the sum of the differences, in tenths.
            #expect(odds.values.reduce(0) { $0 + abs($1) } <= 2, "\(exact)")
        }
    }

    @Test("the control: plain rounding tells one person's coming at an edge for certain")
    func control() {
        func plain(_ exact: Int) -> Int? { exact < 20 ? nil : (exact + 5) / 10 * 10 }
        #expect(plain(19) != plain(20) && plain(994) != plain(995))
    }

    @Test("the largest count there is does not overflow")
    func largest() {
        for told in outcomes(.max) { #expect((told ?? 0) > Int.max - 20) }
    }
}
