import Synchronization
import WakeHTTP
import WakeModel
import WakePush
import WakeStore
import WakeSystem

struct BroadcastPlanner: Sendable {
    let store: Store
    let wakes: StreamHub
    let feed: FeedFileServer
    /// Those that a broadcast that starts now takes.
    var settings: Settings
    /// Between two attempts at a gateway that cannot be used now.
    var reopenInterval = Duration.seconds(180)
    /// Once all rows have been read, the time that slow hosts have before another broadcast.
    var tailPatience = Duration.seconds(300)
    var learnt: @Sendable () -> LearntRates = { LearntRates() }

    var gateways: [any Gateway] { settings.now.gateways }
    var configuration: Configuration { settings.now.configuration }

    /// A copy for one broadcast, which a reload leaves alone.
    var frozen: BroadcastPlanner {
        var copy = self
        copy.settings = Settings(settings.now)
        return copy
    }

    private var input: PlanInput {
        // The spread of the head that clients have, not that of the next publish.
        let rates = learnt().rates
        return configuration.planInput(
            rows: rows, streams: wakes.count, spreadSeconds: feed.spreadSeconds,
            gateways: gateways.filter(\.wakesTokens).map { gateway in
                GatewayRate(
                    gateway.service, last: rates[gateway.service].map { Double($0) },
                    quotaPerMinute: gateway.perMinute)
            })
    }

    /// Waits a second at most: a store that hangs must not hide that it does.
    func countRegistrations() async {
        let event = AsyncEvent()
        store.survey { _ in event.signal() }
        await event.wait { try? await Task.sleep(for: .seconds(1)) }
    }

    /// As counted last, where that is exact; else by the size of the file.
    var rows: Int {
        let counters = store.counters
        let counted = counters.currentRows.now + counters.previousRows.now
        let estimate = store.estimatedRows
        let isSmall = counted < Limits.surveyRows && estimate < 4 * Limits.surveyRows
        return isSmall ? counted : estimate
    }

    func plan() -> Result<BroadcastPlan, PlanError> {
        Result { () throws(PlanError) in try BroadcastPlan(input) }
    }

    /// The time in which the pushes leave, whether it fits the interval or not.
    var plannedSeconds: Int {
        switch plan() {
        case .success(let plan): plan.duration
        case .failure(let error): error.neededSeconds - input.spread
        }
    }

    /// The spread for the next head: the configured one, or longer when the load would be uneven.
    var publishedSpread: Int {
        let configured = configuration.spreadSeconds
        var input = input
        input.spreadSeconds = configured
        guard let plan = try? BroadcastPlan(input) else { return configured }
        for warning in plan.warnings {
            switch warning {
            case .uneven, .streams: return max(configured, plan.publishedSpread)
            case .nearlyFull, .noGateway: continue
            }
        }
        return configured
    }

    /// The pace of a run that starts or resumes now. One that no longer fits, as rows came since,
    /// goes on at the pace of the budget.
    var pace: RunPace {
        let input = input
        guard input.fetchesPerSecond > 0 else { return RunPace() }
        if case .success(let plan) = plan(), plan.pushes > 0 {
            return RunPace(pushes: plan.pushes, over: plan.paceSeconds)
        }
        return RunPace(pushes: max(1, Int(input.usableFetches)), over: 1)
    }
}

extension Configuration {
    func planInput(
        rows: Int, streams: Int = 0, spreadSeconds: Int? = nil, gateways: [GatewayRate]
    ) -> PlanInput {
        let input = PlanInput(
            rows: rows, streams: streams, gateways: gateways, topic: fcm?.topic,
            fetchesPerSecond: fetchesPerSecond, spreadSeconds: spreadSeconds ?? self.spreadSeconds,
            intervalSeconds: intervalSeconds)
        precondition(input.isWithinBounds)
        return input
    }
}
