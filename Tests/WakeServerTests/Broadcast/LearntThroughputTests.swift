import Testing
import WakeModel
import WakePush

@testable import WakeServer

@Suite("What plans learn from runs")
struct LearntThroughputTests {
    @Test("the rate is that of the time in which there is enough to do")
    func meter() {
        var meter = ThroughputMeter()
        let start = ContinuousClock.now
        meter.update(completed: 900, isBusy: false, now: start)
        #expect(meter.rate == nil)
        meter.update(completed: 1000, isBusy: true, now: start + .seconds(10))
        for second in 1...4 {
            meter.update(completed: 600, isBusy: second < 4, now: start + .seconds(10 + second))
        }
        // The rest trickles in.
        meter.update(completed: 50, isBusy: false, now: start + .seconds(60))
        #expect(meter.rate == 600)
    }

    @Test("a plan follows rates and shares of the last run; without any it is as configured")
    func applied() throws {
        var learnt = LearntThroughput()
        let gateways = [PushService.apns, .fcm].map {
            GatewayThroughput($0, connections: 1, streams: 1000, latencyMilliseconds: 50)
        }
        func seconds() throws -> Int {
            try BroadcastPlan(
                PlanInput(
                    rows: 100_000, gateways: gateways.map { learnt.applied(to: $0) },
                    spreadSeconds: 0)
            ).duration
        }
        #expect(try seconds() == 5)
        // 100 streams of 150 ms, and another service that did not matter.
        learnt.record([.apns: GatewayMeasurement(rate: 667, pushes: 50_000), .fcm: .init()])
        #expect(try seconds() == 150)
        learnt.record([
            .apns: GatewayMeasurement(pushes: 50_000),
            .fcm: GatewayMeasurement(rate: 2000, pushes: 50_000),
        ])
        #expect(try seconds() == 75)
        // A few pushes say nothing.
        learnt.record([.apns: GatewayMeasurement(pushes: 3), .fcm: GatewayMeasurement(pushes: 1)])
        #expect(try seconds() == 75)
    }

    @Test("the pace is that of the fetches: a gateway that has become faster is not held back")
    func pace() throws {
        var apns = GatewayThroughput(.apns, connections: 1)
        apns.measured = 10
        let plan = try BroadcastPlan(
            PlanInput(rows: 10_000, gateways: [apns], fetchesPerSecond: 1000, spreadSeconds: 0))
        #expect(plan.duration == 1000 && plan.paceSeconds < 20)
    }
}
