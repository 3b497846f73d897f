import Testing

@testable import WakeServer

@Suite("Counts for the public")
struct RoundedCountTests {
    @Test(
        "what is under 20 is not told, the rest is rounded to 10",
        arguments: [
            (0, nil), (1, nil), (19, nil), (20, 20), (24, 20), (25, 30), (29, 30), (30, 30),
            (994, 990), (995, 1000), (1_000_001, 1_000_000),
        ] as [(Int, Int?)])
    func rounding(_ exact: Int, _ told: Int?) {
        #expect(RoundedCount(exact).value == told)
    }

    @Test("the largest count there is does not overflow")
    func largest() {
        #expect(RoundedCount(UInt64.max).value == Int.max - Int.max % 10)
    }

    @Test("one person more or less changes what is told at most at the edge of a step")
    func steps() {
        let told = (0...2_000).map { RoundedCount($0).value ?? 0 }
        for (one, next) in zip(told, told.dropFirst()) {
            #expect(next == one || next - one == 10 || (one == 0 && next == 20))
        }
        #expect(Set(told).count == 200)
    }
}
