package import WakeModel
import WakeSystem

/// The refusal of a broadcast that would not end before the next heartbeat, with what to change.
package struct PlanError: Error, Sendable, Equatable {
    package enum Cause: Sendable, Equatable {
        case budget(fetchesPerSecond: Int)
        case gateway(PushService)
        /// Clients spread their fetches over longer than the interval leaves.
        case spread(seconds: Int)
    }

    package let rows: Int
    package let cause: Cause
    package let neededSeconds: Int
    package let intervalSeconds: Int
    /// The smallest budget with which it would fit; nil when no budget helps.
    package let enoughFetches: Int?
    /// The fewest connections of the slowest gateway with which it would fit; nil: not its fault.
    package let enoughConnections: Int?

    init(_ input: PlanInput, byGateways: Int, byBudget: Int, took duration: Int) {
        rows = input.rows
        intervalSeconds = input.intervalSeconds
        neededSeconds = duration + input.spread
        let left = input.intervalSeconds - input.spread
        let pushes = Double(input.pushes)
        guard left > 0 else {
            cause = .spread(seconds: input.spread)
            enoughFetches = nil
            enoughConnections = nil
            return
        }
        if byGateways > left, let slowest = input.slowest {
            cause = .gateway(slowest.service)
            let one = slowest.carried / Double(slowest.connections)
            let connections = (pushes / Double(left) / one).rounded(.up)
            enoughConnections = slowest.isBoundByQuota || connections > 1e6 ? nil : Int(connections)
        } else {
            cause = .budget(fetchesPerSecond: input.fetchesPerSecond)
            enoughConnections = nil
        }
        guard input.fetchesPerSecond > 0, byBudget > left else {
            enoughFetches = nil
            return
        }
        let streamRate = Double(input.streams) / Double(max(1, input.spread))
        let needed = pushes / Double(left)
        // Streams cannot be slowed down, but the plan leaves pushes half of the budget.
        enoughFetches = PlanInput.budget(usable: needed + min(needed, streamRate))
    }

    /// Two lines: what does not fit, and what would.
    package var message: String {
        let needed = NumberFormat.clock(neededSeconds)
        let interval = NumberFormat.clock(intervalSeconds)
        let first =
            "a broadcast to \(NumberFormat.grouped(rows)) registrations takes \(needed), longer"
            + " than the interval of \(interval)"
        return first + "\nhint: " + hints.joined(separator: ", or ")
    }

    private var hints: [String] {
        var hints: [String] = []
        switch cause {
        case .spread(let seconds): hints.append("publish a spread shorter than \(seconds) seconds")
        case .gateway(let service):
            if let enoughConnections {
                hints.append("give \(service.word) \(enoughConnections) connections")
            } else {
                hints.append("ask \(service.word) for a higher quota")
            }
            if let enoughFetches {
                hints[0] += " and allow \(NumberFormat.grouped(enoughFetches)) fetches a second"
            }
        case .budget:
            if let enoughFetches {
                hints.append("allow \(NumberFormat.grouped(enoughFetches)) fetches a second")
            }
        }
        // Whole minutes, and room so that it does not warn at once.
        let minutes = (neededSeconds * 5 / 4 + 59) / 60
        hints.append("make the interval \(NumberFormat.grouped(minutes * 60)) seconds")
        return hints
    }
}
