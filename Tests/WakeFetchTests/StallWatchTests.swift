import Testing

@testable import WakeFetch

@Suite("Streams that are not told of their answers")
struct StallWatchTests {
    private let a: [UInt8] = [1]
    private let b: [UInt8] = [2]

    @Test("are looked at after a while, then ever less often")
    func times() {
        var watch = StallWatch()
        #expect(watch.next == nil)
        watch.begin(1, host: a, at: .seconds(10))
        #expect(watch.next == .milliseconds(10_250))
        #expect(watch.due(at: .milliseconds(10_249)) == [])
        #expect(watch.due(at: .milliseconds(10_250)) == [1])
        #expect(watch.next == .milliseconds(10_750))
        #expect(watch.due(at: .milliseconds(10_750)) == [1])
        #expect(watch.next == .milliseconds(11_750))
        watch.end(1)
        #expect(watch.next == nil)
        #expect(watch.due(at: .seconds(100)) == [])
    }

    @Test("are looked at one for each host, the others right after")
    func hosts() {
        var watch = StallWatch()
        for id in 1...3 { watch.begin(UInt64(id), host: a, at: .zero) }
        watch.begin(4, host: b, at: .zero)
        var seen: [UInt64] = []
        let now = Duration.milliseconds(300)
        for round in 0..<3 {
            let due = watch.due(at: now)
            #expect(due.count == (round == 0 ? 2 : 1))
            #expect(due.contains(4) == (round == 0))
            seen += due
        }
        #expect(Set(seen) == [1, 2, 3, 4])
        #expect(watch.due(at: now) == [])
        #expect(watch.next == now + .milliseconds(500))
    }
}
