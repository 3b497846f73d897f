import Testing

@testable import WakeFetch

@Suite("Watching the pace")
struct PaceMeterTests {
    @Test("silence is measured from the last byte")
    func idle() {
        var meter = PaceMeter(.idle(.seconds(45)), from: .seconds(100))
        #expect(meter.judge(at: .seconds(144)) == .enough(until: .seconds(145)))
        meter.observe(1, at: .seconds(144))
        #expect(meter.judge(at: .seconds(188)) == .enough(until: .seconds(189)))
        #expect(meter.judge(at: .seconds(189)) == .tooSlow)
    }

    @Test("a window that is full enough is followed by the next")
    func windows() {
        var meter = PaceMeter(.atLeast(bytesPerSecond: 100, over: .seconds(10)), from: .zero)
        meter.observe(999, at: .seconds(1))
        meter.observe(1, at: .seconds(9))
        #expect(meter.judge(at: .seconds(9)) == .enough(until: .seconds(10)))
        #expect(meter.judge(at: .seconds(10)) == .enough(until: .seconds(20)))
        meter.observe(999, at: .seconds(11))
        #expect(meter.judge(at: .seconds(20)) == .tooSlow)
    }

    @Test("a stall after a good start is noticed within two windows")
    func stall() {
        var meter = PaceMeter(.atLeast(bytesPerSecond: 1, over: .seconds(1)), from: .zero)
        meter.observe(1 << 30, at: .milliseconds(1))
        #expect(meter.judge(at: .seconds(1)) == .enough(until: .seconds(2)))
        #expect(meter.judge(at: .seconds(2)) == .tooSlow)
    }

    @Test("no rate and no window can overflow")
    func extremes() {
        let pace = FetchTimeout.Pace.atLeast(bytesPerSecond: .max, over: .seconds(3600))
        var meter = PaceMeter(pace, from: .zero)
        meter.observe(.max, at: .zero)
        #expect(meter.judge(at: .seconds(3600)) == .tooSlow)
    }
}
