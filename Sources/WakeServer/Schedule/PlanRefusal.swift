package import WakeModel

/// A broadcast that would not be over before the next heartbeat: what it takes, and what to change.
package struct PlanRefusal: Error, Sendable, Equatable {
    package enum Cause: Sendable, Equatable {
        /// Fetches a second the origin may get.
        case budget(fetchesPerSecond: Int)
        /// A gateway is too slow.
        case gateway(PushService)
        /// Clients spread their fetches over longer than the interval leaves.
        case spread(seconds: Int)
    }

    package let rows: Int
    package let cause: Cause
    package let neededSeconds: Int
    package let intervalSeconds: Int
    /// The least budget with which it would fit; nil when no budget helps.
    package let enoughFetches: Int?
    /// The least connections of the slowest gateway with which it would fit; nil when it is not
    /// the gateway, or its service allows no more.
    package let enoughConnections: Int?

    init(_ demand: BroadcastDemand, byGateways: Int, byBudget: Int, took duration: Int) {
        rows = demand.rows
        intervalSeconds = demand.intervalSeconds
        neededSeconds = duration + demand.spread
        let left = demand.intervalSeconds - demand.spread
        let pushes = Double(demand.pushes)
        guard left > 0 else {
            cause = .spread(seconds: demand.spread)
            enoughFetches = nil
            enoughConnections = nil
            return
        }
        if byGateways > left, let slowest = demand.slowest {
            cause = .gateway(slowest.service)
            let share = Double(slowest.sharePerMille) / 1000
            let one = slowest.carried / Double(slowest.connections)
            let connections = (pushes * share / Double(left) / one).rounded(.up)
            enoughConnections = slowest.isBoundByQuota || connections > 1e6 ? nil : Int(connections)
        } else {
            cause = .budget(fetchesPerSecond: demand.fetchesPerSecond)
            enoughConnections = nil
        }
        guard demand.fetchesPerSecond > 0, byBudget > left else {
            enoughFetches = nil
            return
        }
        let streamRate = Double(demand.streams) / Double(max(1, demand.spread))
        let needed = pushes / Double(left)
        // The streams take what they take, but the plan leaves pushes half of the budget.
        enoughFetches = BroadcastDemand.budget(usable: needed + min(needed, streamRate))
    }

    /// Two lines: what does not fit, and what would.
    package var message: String {
        let needed = FigureText.clock(neededSeconds)
        let interval = FigureText.clock(intervalSeconds)
        let first =
            "a broadcast to \(FigureText.grouped(rows)) registrations takes \(needed), longer than"
            + " the interval of \(interval)"
        return first + "\nhint: " + hints.joined(separator: ", or ")
    }

    private var hints: [String] {
        var hints: [String] = []
        switch cause {
        case .spread(let seconds):
            hints.append("publish a spread shorter than \(seconds) seconds")
        case .gateway(let service):
            if let enoughConnections {
                hints.append("give \(service.word) \(enoughConnections) connections")
            } else {
                hints.append("ask \(service.word) for a higher quota")
            }
            if let enoughFetches {
                hints[0] += " and allow \(FigureText.grouped(enoughFetches)) fetches a second"
            }
        case .budget:
            if let enoughFetches {
                hints.append("allow \(FigureText.grouped(enoughFetches)) fetches a second")
            }
        }
        // Whole minutes, and room so that it does not warn at once.
        let minutes = (neededSeconds * 5 / 4 + 59) / 60
        hints.append("make the interval \(FigureText.grouped(minutes * 60)) seconds")
        return hints
    }
}
