import Testing
import WakeModel
import WakePush
import WakeSystem

@testable import WakeServer

@Suite("What plans learn from runs")
struct LearntThroughputTests {
    @Test("the rate is that of the time in which there is enough to do")
    func meter() {
        var meter = ThroughputMeter()
        let start = UptimeInstant.now
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

    private func tokens(_ count: Int, host: Int? = nil) throws -> [PushToken] {
        try (0..<count).map {
            guard let host else {
                return try PushToken(service: .apns, bytes: .init(repeating: UInt8($0), count: 32))
            }
            let endpoint = "https://h\(host).example.org/\($0)"
            return try PushToken(service: .webPush, bytes: Array(endpoint.utf8))
        }
    }

    @Test("a plan follows the rates of the last run, and the shares of a sample")
    func applied() throws {
        var learnt = LearntThroughput()
        var sample = RegistrationSample()
        let gateways = [PushService.apns, .fcm, .webPush].map {
            GatewayThroughput($0, connections: 1, streams: 64, latencyMilliseconds: 100)
        }
        func seconds() throws -> Int {
            let gateways = gateways.map { learnt.applied(to: $0, RegistrationShares(sample)) }
            return try BroadcastPlan(
                PlanInput(rows: 64_000, gateways: gateways, spreadSeconds: 0)
            ).duration
        }
        // Nothing is known: every one of them may have all.
        #expect(try seconds() == 100)
        sample.add(try tokens(100), for: 16_000)
        sample.add(try tokens(50, host: 1), for: 16_000)
        for host in 2...33 { sample.add(try tokens(1, host: host), for: 1000) }
        #expect(try seconds() == 25)
        let shares = RegistrationShares(sample)
        #expect(shares[.apns] == 0.25 && shares[.fcm] == 0)
        #expect(shares[.webPush] == 0.75 && shares.largestHost == 0.25)
        learnt.record([.apns: 100])
        #expect(try seconds() == 160)
        learnt.record([.apns: 100_000, .webPush: 1000])
        #expect(try seconds() == 48)
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
