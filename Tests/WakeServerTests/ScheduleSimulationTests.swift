import Testing

@testable import WakeServer

@Suite("The schedule on paper")
struct ScheduleSimulationTests {
    @Test("a day of heartbeats: one in each interval")
    func day() {
        let simulation = ScheduleSimulation(.init(), duration: 240, seed: 1)
        #expect(simulation.starts.map { $0.second / 7200 } == Array(0..<12))
        #expect(simulation.mostPerHour <= 3)
        #expect(simulation.summary.first == "12 broadcasts in 24 hours, 12 of them heartbeats")
        #expect(simulation.summary.allSatisfy { $0.count <= 80 })
    }

    @Test("whatever is published, no device is woken more than three times in an hour")
    func limit() {
        for seed in 0..<30 as Range<UInt64> {
            for duration in [0, 60, 700, 2500] {
                let simulation = ScheduleSimulation(
                    .init(heartbeatSeconds: 1200), duration: duration, hours: 48, publishes: 500,
                    seed: seed)
                #expect(simulation.mostPerHour == 3)
                // Deferred by an hour and the broadcast that runs at most, never lost.
                #expect(simulation.longestWait <= 3601 + duration)
                #expect(simulation.starts.count(where: { $0.reasons.contains(.asked) }) > 20)
            }
        }
    }

    @Test("without heartbeats only what is asked for is sent")
    func off() {
        let none = ScheduleSimulation(
            .init(heartbeatSeconds: nil), duration: 60, hours: 100, seed: 1)
        #expect(none.starts.isEmpty && none.mostPerHour == 0)
        let some = ScheduleSimulation(
            .init(heartbeatSeconds: nil), duration: 60, hours: 1000, publishes: 10, seed: 1)
        #expect(some.starts.count == 10)
        #expect(some.starts.allSatisfy { $0.reasons == .asked })
        #expect(some.longestWait <= 1)
    }
}
