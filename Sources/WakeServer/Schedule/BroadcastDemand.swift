/// What a plan is made from.
package struct BroadcastDemand: Sendable, Equatable {
    /// Registrations of both generations, an estimate; 10^9 at most.
    package var rows: Int
    /// Event streams open now: their clients are all woken in the first moment.
    package var streams: Int
    /// Those that work; without any, nobody but the streams is woken.
    package var gateways: [GatewayLimits]
    /// Fetches a second the feed's origin may get; 0: as many as there are.
    package var fetchesPerSecond: Int
    /// Seconds over which woken clients spread their fetches: of the head they have now. A client
    /// learns a new spread with the fetch that follows a wake-up, not before.
    package var spreadSeconds: Int
    /// Seconds between two heartbeats; 10^6 at most.
    package var intervalSeconds: Int

    package init(
        rows: Int, streams: Int = 0, gateways: [GatewayLimits], fetchesPerSecond: Int = 0,
        spreadSeconds: Int, intervalSeconds: Int = 7200
    ) {
        precondition(
            (0...1_000_000_000).contains(rows) && (0...1_000_000_000).contains(streams)
                && fetchesPerSecond >= 0 && spreadSeconds >= 0
                && (1...1_000_000).contains(intervalSeconds))
        self.rows = rows
        self.streams = streams
        self.gateways = gateways
        self.fetchesPerSecond = fetchesPerSecond
        self.spreadSeconds = spreadSeconds
        self.intervalSeconds = intervalSeconds
    }

    /// Clients spread by an hour at most, whatever a head says.
    package static let longestSpread = 3600

    var spread: Int { min(spreadSeconds, Self.longestSpread) }
    var pushes: Int { gateways.isEmpty ? 0 : rows }
    /// The gateway that takes longest for its part.
    var slowest: GatewayLimits? {
        let pushes = Double(pushes)
        return gateways.max { $0.seconds(for: pushes) < $1.seconds(for: pushes) }
    }

    /// Fetches a second to plan for: random moments make single seconds fuller than the mean. So
    /// large that the mean and four standard deviations, x + 4 √x, stay within the budget; half
    /// of a budget under 47, where that would be less still.
    var usableFetches: Double {
        guard fetchesPerSecond > 0 else { return .infinity }
        let budget = Double(fetchesPerSecond)
        let root = (budget + 4).squareRoot() - 2
        return max(budget / 2, root * root)
    }

    /// The budget whose usable part is so large.
    static func budget(usable: Double) -> Int {
        let budget = min(2 * usable, usable + 4 * usable.squareRoot())
        return budget < 1e15 ? Int(budget.rounded(.up)) : Int.max
    }
}
