import WakeHTTP
import WakeModel
import WakePush
import WakeStore

/// Plans a broadcast with what the service knows now.
struct BroadcastPlanner: Sendable {
    let store: Store
    let wakes: StreamHub
    let site: FeedSite
    let gateways: [any Gateway]
    let configuration: Configuration

    /// What has to be done, estimated.
    var demand: BroadcastDemand {
        // What clients were told last, not what the next publish will tell them.
        configuration.demand(
            rows: store.estimatedRows, streams: wakes.count, spreadSeconds: site.spreadSeconds,
            gateways: gateways.map(\.limits))
    }

    /// The spread that the next head should have: the configured one, or longer when the load would
    /// be uneven with it.
    var publishedSpread: Int {
        let configured = configuration.spreadSeconds
        var demand = demand
        demand.spreadSeconds = configured
        guard let plan = try? BroadcastPlan(demand) else { return configured }
        let isUneven = plan.warnings.contains { warning in
            switch warning {
            case .uneven, .streams: true
            case .nearlyFull, .noGateway: false
            }
        }
        return isUneven ? max(configured, plan.publishedSpread) : configured
    }

    func plan() -> Result<BroadcastPlan, PlanRefusal> {
        do throws(PlanRefusal) {
            return .success(try BroadcastPlan(demand))
        } catch {
            return .failure(error)
        }
    }

    /// How the round that starts now goes about it. One that no longer fits goes on at the pace of
    /// the budget: rows may have come since it began.
    func settings() -> RoundSettings {
        var settings = RoundSettings()
        settings.lifetime = configuration.intervalSeconds
        settings.brakePerMille = configuration.brakePerMille
        guard demand.fetchesPerSecond > 0 else { return settings }
        if case .success(let plan) = plan(), plan.pushes > 0 {
            settings.limit(pushes: plan.pushes, over: plan.duration)
        } else {
            settings.limit(pushes: max(1, Int(demand.usableFetches)), over: 1)
        }
        return settings
    }
}

extension Configuration {
    /// - Parameter rows: registrations, estimated.
    package func demand(
        rows: Int, streams: Int = 0, spreadSeconds: Int? = nil, gateways: [GatewayLimits]
    ) -> BroadcastDemand {
        BroadcastDemand(
            rows: rows, streams: streams, gateways: gateways, fetchesPerSecond: fetchesPerSecond,
            spreadSeconds: spreadSeconds ?? self.spreadSeconds, intervalSeconds: intervalSeconds)
    }
}

extension Gateway {
    var limits: GatewayLimits {
        GatewayLimits(
            service, connections: connections, streams: streams, quotaPerMinute: perMinute)
    }
}
