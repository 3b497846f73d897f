import WakeCommand
import WakeServer

/// `reveille broadcast --simulate ROWS`: what a broadcast to so many registrations would bring, by
/// the plan and the schedule that the service itself goes by.
enum BroadcastOnPaper {
    static func show(
        _ rows: Int, _ configuration: Configuration
    ) throws(CommandFailure) -> ExitStatus {
        let demand = configuration.demand(rows: rows, gateways: Gateways.limits(configuration))
        let plan: BroadcastPlan
        do throws(PlanRefusal) {
            plan = try BroadcastPlan.settled(demand)
        } catch {
            let lines = error.message.split(separator: "\n").map(String.init)
            throw CommandFailure(
                lines[0], hint: lines.dropFirst().first.map { String($0.trimmingPrefix("hint: ")) })
        }
        let console = Console()
        for line in plan.lines { console.out(line) }
        guard plan.pushes > 0 else { return .success }
        // The same numbers give the same picture: two runs can be compared.
        let simulation = BroadcastSimulation(plan, seed: 1)
        console.out("")
        for line in LoadPlot(simulation).lines { console.out(line) }
        console.out("")
        for line in simulation.summary + [""] + simulation.table { console.out(line) }
        let settings = BroadcastSchedule.Settings(
            heartbeatSeconds: configuration.heartbeat ? configuration.intervalSeconds : nil)
        console.out("\na day with 12 publishes at random moments:")
        let day = ScheduleSimulation(settings, duration: plan.duration, publishes: 12, seed: 1)
        for line in day.summary { console.out(line) }
        return .success
    }
}
