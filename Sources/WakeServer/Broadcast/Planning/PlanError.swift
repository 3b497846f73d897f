import WakeModel
import WakeSystem

/// The refusal of a broadcast that would not end before the next heartbeat, with what to change.
package struct PlanError: Error, Equatable {
    enum Cause: Equatable {
        case budget
        case gateway(PushService)
        /// Clients spread their fetches over longer than the interval leaves.
        case spread(seconds: Int)
    }

    private let rows: Int
    let cause: Cause
    let neededSeconds: Int
    let intervalSeconds: Int
    /// The smallest budget with which it would fit; nil when no budget helps.
    private(set) var enoughFetches: Int?
    /// The fewest connections of the slowest gateway with which it would fit; nil: not its fault.
    private(set) var enoughConnections: Int?

    init(_ input: PlanInput, byGateways: Int, byBudget: Int, took duration: Int) {
        rows = input.rows
        intervalSeconds = input.intervalSeconds
        neededSeconds = duration + input.spread
        let left = input.intervalSeconds - input.spread
        guard left > 0 else {
            cause = .spread(seconds: input.spread)
            return
        }
        let needed = Double(input.pushes) / Double(left)
        if byGateways > left, let slowest = input.slowest {
            cause = .gateway(slowest.service)
            let one = slowest.carried / Double(slowest.connections)
            let connections = (needed / one).rounded(.up)
            if !slowest.isBoundByQuota, connections <= 1e6 { enoughConnections = Int(connections) }
        } else {
            cause = .budget
        }
        guard input.fetchesPerSecond > 0, byBudget > left else { return }
        let streamRate = Double(input.streams) / Double(max(1, input.spread))
        // Streams cannot be slowed down, but the plan leaves pushes half of the budget.
        enoughFetches = PlanInput.budget(usable: needed + min(needed, streamRate))
    }

    /// Two lines: what does not fit, and what would.
    package var message: String {
        "a broadcast to \(NumberFormat.grouped(rows)) registrations takes "
            + "\(NumberFormat.clock(neededSeconds)), longer than the interval of "
            + "\(NumberFormat.clock(intervalSeconds))\nhint: " + hints.joined(separator: ", or ")
    }

    private var hints: [String] {
        var hints: [String] = []
        let fetches = enoughFetches.map { "allow \(NumberFormat.grouped($0)) fetches a second" }
        switch cause {
        case .spread(let seconds): hints.append("publish a spread shorter than \(seconds) seconds")
        case .gateway(let service):
            let remedy = enoughConnections.map { "give \(service.word) \($0) connections" }
            hints.append(remedy ?? "ask \(service.word) for a higher quota")
            if let fetches { hints[0] += " and " + fetches }
        case .budget:
            if let fetches { hints.append(fetches) }
        }
        // Whole minutes, and room so that it does not warn at once.
        let minutes = (neededSeconds * 5 / 4 + 59) / 60
        hints.append("make the interval \(NumberFormat.grouped(minutes * 60)) seconds")
        return hints
    }
}
