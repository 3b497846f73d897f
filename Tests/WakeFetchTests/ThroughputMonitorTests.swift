import Testing

@testable import WakeFetch

@Suite("Throughput monitor")
struct ThroughputMonitorTests {
    @Test("silence is measured from the last byte")
    func idle() {
        var monitor = ThroughputMonitor(.idle(.seconds(45)), from: .seconds(100))
        #expect(monitor.check(at: .seconds(144)) == .enough(until: .seconds(145)))
        monitor.count(1, at: .seconds(144))
        #expect(monitor.check(at: .seconds(188)) == .enough(until: .seconds(189)))
        #expect(monitor.check(at: .seconds(189)) == .tooSlow)
    }

    @Test("a window that is full enough is followed by the next")
    func windows() {
        var monitor = ThroughputMonitor(
            .atLeast(bytesPerSecond: 100, over: .seconds(10)), from: .zero)
        monitor.count(999, at: .seconds(1))
        monitor.count(1, at: .seconds(9))
        #expect(monitor.check(at: .seconds(9)) == .enough(until: .seconds(10)))
        #expect(monitor.check(at: .seconds(10)) == .enough(until: .seconds(20)))
        monitor.count(999, at: .seconds(11))
        #expect(monitor.check(at: .seconds(20)) == .tooSlow)
    }

    @Test("a stall after a good start is noticed within two windows")
    func stall() {
        var monitor = ThroughputMonitor(.atLeast(bytesPerSecond: 1, over: .seconds(1)), from: .zero)
        monitor.count(1 << 30, at: .milliseconds(1))
        #expect(monitor.check(at: .seconds(1)) == .enough(until: .seconds(2)))
        #expect(monitor.check(at: .seconds(2)) == .tooSlow)
    }

    @Test("no rate and no window can overflow")
    func extremes() {
        let minimum = FetchTimeout.Throughput.atLeast(bytesPerSecond: .max, over: .seconds(3600))
        var monitor = ThroughputMonitor(minimum, from: .zero)
        monitor.count(.max, at: .zero)
        #expect(monitor.check(at: .seconds(3600)) == .tooSlow)
    }
}
