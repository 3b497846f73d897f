import TestSupport
import Testing
import WakeModel

@testable import WakeServer

@Suite("A simulated broadcast")
struct BroadcastSimulationTests {
    private static let apns = GatewayThroughput(
        .apns, connections: 1, streams: 1000, latencyMilliseconds: 50)

    private func simulation(
        rows: Int, streams: Int = 0, budget: Int = 0, spread: Int, seed: UInt64 = 1
    ) throws -> BroadcastSimulation {
        let input = PlanInput(
            rows: rows, streams: streams, gateways: [Self.apns], fetchesPerSecond: budget,
            spreadSeconds: spread)
        var random = SplitMix64(seed: seed)
        return BroadcastSimulation(try .withPublishedSpread(input), using: &random)
    }

    /// One connection of this number of streams, without a budget.
    private func simulation(rows: Int, gatewayStreams: Int, spread: Int) throws
        -> BroadcastSimulation
    {
        let gateway = GatewayThroughput(
            .apns, connections: 1, streams: gatewayStreams, latencyMilliseconds: 50)
        var random = SplitMix64(seed: 3)
        let plan = try BroadcastPlan(.init(rows: rows, gateways: [gateway], spreadSeconds: spread))
        return BroadcastSimulation(plan, using: &random)
    }

    @Test(
        "100,000 clients: the fullest second has at most 1.3 times the mean",
        arguments: [
            // Spread of the head, budget: S alone, the pace alone, the pace with a tenth of it.
            (300, 0), (300, 500), (300, 2000), (120, 1000), (0, 500), (0, 1500), (60, 800),
            (30, 5000),
        ])
    func even(_ spread: Int, _ budget: Int) throws {
        for seed in 0..<5 as Range<UInt64> {
            let simulation = try simulation(
                rows: 100_000, budget: budget, spread: spread, seed: seed)
            #expect(simulation.fetches.reduce(0, +) == 100_000)
            #expect(simulation.seconds == simulation.plan.totalSeconds)
            #expect(Double(simulation.fullestSecond) <= 1.3 * simulation.mean)
            // Four standard deviations, and a few of each ten thousand seconds beyond.
            if budget > 0 { #expect(simulation.fullestSecond <= budget + budget / 50) }
        }
    }

    @Test("where random deviation rules single seconds, spans of 1,000 fetches are even")
    func slow() throws {
        for (spread, budget) in [(1600, 0), (0, 100), (900, 0), (3600, 0)] {
            for seed in 0..<5 as Range<UInt64> {
                let simulation = try simulation(
                    rows: 100_000, budget: budget, spread: spread, seed: seed)
                #expect(simulation.plan.spanSeconds > 1)
                #expect(simulation.fullestSpan <= 1.3 * simulation.mean)
            }
        }
    }

    @Test("any plan of 100,000 clients or more is as even as its arithmetic says")
    func anyPlan() throws {
        var random = SplitMix64(seed: 2)
        for _ in 0..<40 {
            let budget =
                Bool.random(using: &random) ? 0 : Int.random(in: 60...50_000, using: &random)
            let simulation = try simulation(
                rows: .random(in: 100_000...300_000, using: &random), budget: budget,
                spread: .random(in: 0...1800, using: &random), seed: random.next())
            #expect(simulation.fullestSpan <= 1.3 * simulation.mean)
            let most: Int = budget + budget / 20
            if budget > 47 { #expect(simulation.fullestSecond <= most) }
            let pushes: Int = simulation.pushes.reduce(0, +)
            #expect(pushes == simulation.fetches.reduce(0, +))
        }
    }

    @Test("the control: with push window and spread alike the peak is twice the mean")
    func control() throws {
        let simulation = try simulation(rows: 120_000, gatewayStreams: 20, spread: 300)
        #expect(simulation.plan.duration == 300)
        #expect(simulation.plan.warnings == [.uneven(hundredths: 200)])
        #expect(Double(simulation.fullestSecond) > 1.8 * simulation.mean)
    }

    @Test("the counts in each second follow the trapezoid")
    func trapezoid() throws {
        let simulation = try simulation(rows: 1_000_000, gatewayStreams: 100, spread: 100)
        #expect(simulation.plan.duration == 500 && simulation.seconds == 600)
        for second in 0..<600 {
            let middle = Double(second) + 0.5
            let expected = 2000 * min(middle, 600 - middle, 100) / 100
            #expect(
                abs(Double(simulation.fetches[second]) - expected) < 5 * expected.squareRoot() + 5)
            #expect(simulation.pushes[second] == (second < 500 ? 2000 : 0))
        }
    }

    @Test("clients on event streams fetch from the first moment on")
    func streams() throws {
        let simulation = try simulation(rows: 0, streams: 10_000, budget: 500, spread: 0)
        #expect(simulation.plan.spread == 48)
        #expect(simulation.fetches.reduce(0, +) == 10_000)
        #expect(simulation.fullestSecond <= 500)
    }

    @Test(
        "the table keeps its bounds, whatever the size",
        arguments: [
            (0, 0), (1, 0), (1, 3600), (50, 7), (100_000, 300), (500_000, 25), (1_000_000, 3000),
        ])
    func bounds(_ rows: Int, _ spread: Int) throws {
        let simulation = try simulation(rows: rows, spread: spread)
        #expect(simulation.table.count <= BroadcastSimulation.tableRows + 1)
        #expect(simulation.table.allSatisfy { $0.count == 69 })
        #expect(simulation.summary.allSatisfy { $0.count <= 80 })
    }
}

@Suite("A simulated schedule")
struct ScheduleSimulationTests {
    private func simulation(
        heartbeat: Int?, duration: Int, hours: Int = 24, publishes: Int = 0, seed: UInt64 = 1
    ) -> ScheduleSimulation {
        var random = SplitMix64(seed: seed)
        return ScheduleSimulation(
            heartbeatSeconds: heartbeat, duration: duration, hours: hours, publishes: publishes,
            using: &random)
    }

    @Test("a day of heartbeats: one in each interval")
    func day() {
        let simulation = simulation(heartbeat: 7200, duration: 240)
        #expect(simulation.starts.map { $0.second / 7200 } == Array(0..<12))
        #expect(simulation.mostPerHour <= 3)
        #expect(simulation.summary.first == "12 broadcasts in 24 hours, 12 of them heartbeats")
        #expect(simulation.summary.allSatisfy { $0.count <= 80 })
    }

    @Test("whatever is published, no device is woken more than three times in an hour")
    func limit() {
        for seed in 0..<30 as Range<UInt64> {
            for duration in [0, 60, 700, 2500] {
                let simulation = simulation(
                    heartbeat: 1200, duration: duration, hours: 48, publishes: 500, seed: seed)
                #expect(simulation.mostPerHour == 3)
                // Deferred by an hour and the broadcast that runs at most, never lost.
                #expect(simulation.longestWait <= 3601 + duration)
                #expect(simulation.starts.count(where: { $0.reasons.contains(.asked) }) > 20)
            }
        }
    }

    @Test("without heartbeats only what is asked for is sent")
    func off() {
        let none = simulation(heartbeat: nil, duration: 60, hours: 100)
        #expect(none.starts.isEmpty && none.mostPerHour == 0)
        let some = simulation(heartbeat: nil, duration: 60, hours: 1000, publishes: 10)
        #expect(some.starts.count == 10)
        #expect(some.starts.allSatisfy { $0.reasons == .asked })
        #expect(some.longestWait <= 1)
    }
}
