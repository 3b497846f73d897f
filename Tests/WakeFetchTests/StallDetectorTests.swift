import Testing

@testable import WakeFetch

@Suite("Stall detector")
struct StallDetectorTests {
    private let a: [UInt8] = [1]
    private let b: [UInt8] = [2]

    @Test("streams are re-read after a while, then ever less often")
    func times() {
        var detector = StallDetector()
        #expect(detector.next == nil)
        detector.begin(1, host: a, at: .seconds(10))
        #expect(detector.next == .milliseconds(10_250))
        #expect(detector.due(at: .milliseconds(10_249)) == [])
        #expect(detector.due(at: .milliseconds(10_250)) == [1])
        #expect(detector.next == .milliseconds(10_750))
        #expect(detector.due(at: .milliseconds(10_750)) == [1])
        #expect(detector.next == .milliseconds(11_750))
        detector.end(1)
        #expect(detector.next == nil)
        #expect(detector.due(at: .seconds(100)) == [])
    }

    @Test("streams are re-read one per host, the others right after")
    func hosts() {
        var detector = StallDetector()
        for id in 1...3 { detector.begin(UInt64(id), host: a, at: .zero) }
        detector.begin(4, host: b, at: .zero)
        var seen: [UInt64] = []
        let now = Duration.milliseconds(300)
        for round in 0..<3 {
            let due = detector.due(at: now)
            #expect(due.count == (round == 0 ? 2 : 1))
            #expect(due.contains(4) == (round == 0))
            seen += due
        }
        #expect(Set(seen) == [1, 2, 3, 4])
        #expect(detector.due(at: now) == [])
        #expect(detector.next == now + .milliseconds(500))
    }
}
