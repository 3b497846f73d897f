/// How fast a broadcast goes, and what load of fetches will follow.
///
/// Pushes leave evenly over D seconds, and each woken client fetches at an even random moment of
/// the S seconds after its push. The two together make a trapezoid of D + S seconds:
///
/// ```
///   peak = N / max(D, S)      ┌────────────┐
///                            ╱              ╲
///   mean = N / (D + S)      ╱                ╲
///                          └──────────────────┘
///                           min(D, S)  …   D + S seconds
/// ```
///
/// so peak / mean = 1 + min(D, S) / max(D, S): two when they are alike, 1.1 when one is a tenth of
/// the other. Hence the rule for an even load: one of them at most a tenth of the other. Random
/// moments come on top: among a few hundred spans of time with x fetches each on average, the
/// fullest has some x + 3.2 √x. At x = 333 that is 18 %; for 1.3 times the mean in single seconds
/// it takes some 270 fetches a second, below that one has to look at longer spans of time, see
/// `spanSeconds`.
///
/// D carries the budget, not S: the server's pace is its own, while S is whatever the heads say
/// that clients happen to have. Unless S alone is long enough; then pushes leave as fast as the
/// gateways can. Open event streams are woken all at once, so only S can spread them.
package struct BroadcastPlan: Sendable, Equatable {
    package enum Warning: Sendable, Equatable {
        /// It takes so much of the interval, 80 to 100.
        case nearlyFull(percent: Int)
        /// Peak over mean, in hundredths, for want of another spread.
        case uneven(hundredths: Int)
        /// Clients on event streams fetch so many times a second, more than half the budget.
        case streams(perSecond: Int)
        /// There are rows, but no gateway works.
        case noGateway
    }

    package let demand: BroadcastDemand
    /// Seconds in which the pushes leave; 0 without any.
    package let duration: Int
    /// The spread the feed's head should have: the demand's own when that is even, or one that
    /// will be, and not shorter than event streams need. For the next broadcast; see `settled`.
    package let publishedSpread: Int
    package let warnings: [Warning]

    /// - Throws: when it would not be over before the next heartbeat.
    package init(_ demand: BroadcastDemand) throws(PlanRefusal) {
        self.demand = demand
        let spread = demand.spread
        let time = Time(demand, spread: spread)
        duration = time.duration
        guard duration + spread <= demand.intervalSeconds else {
            throw PlanRefusal(
                demand, byGateways: time.byGateways, byBudget: time.byBudget, took: duration)
        }
        let isEven = Self.isEven(duration, spread)
        let forStreams = seconds(2 * Double(demand.streams) / demand.usableFetches)
        let even = isEven ? spread : max(time.byGateways, time.byBudget) / 10
        let published = min(max(even, forStreams), BroadcastDemand.longestSpread)
        // Advice that would be refused once it is followed is none.
        let next = Time(demand, spread: published)
        publishedSpread =
            next.duration + published <= demand.intervalSeconds ? published : spread

        var warnings: [Warning] = []
        let percent = (duration + spread) * 100 / demand.intervalSeconds
        if percent >= 80 { warnings.append(.nearlyFull(percent: percent)) }
        if !isEven {
            let ratio = 100 + 100 * min(duration, spread) / max(duration, spread)
            warnings.append(.uneven(hundredths: ratio))
        }
        if time.streamRate > demand.usableFetches / 2 {
            warnings.append(.streams(perSecond: Int(time.streamRate.rounded(.up))))
        }
        if demand.rows > 0, demand.gateways.isEmpty { warnings.append(.noGateway) }
        self.warnings = warnings
    }

    /// The plan once the heads of all clients have the spread it says: what a simulation and a
    /// publisher go by.
    package static func settled(_ demand: BroadcastDemand) throws(PlanRefusal) -> BroadcastPlan {
        let plan = try BroadcastPlan(demand)
        guard plan.publishedSpread != demand.spread else { return plan }
        var next = demand
        next.spreadSeconds = plan.publishedSpread
        return try BroadcastPlan(next)
    }

    /// How long the pushes take with a given spread.
    private struct Time {
        /// Seconds the gateways need, and seconds the budget asks for when the pace alone keeps it.
        let byGateways: Int
        let byBudget: Int
        let duration: Int
        /// Fetches a second of clients on event streams.
        let streamRate: Double

        init(_ demand: BroadcastDemand, spread: Int) {
            let pushes = Double(demand.pushes)
            byGateways = seconds(demand.slowest?.seconds(for: pushes) ?? 0)
            streamRate = Double(demand.streams) / Double(max(1, spread))
            let usable = demand.usableFetches
            // The streams take what they take; pushes are not starved for their sake.
            byBudget = seconds(pushes / max(usable / 2, usable - streamRate))
            duration = max(
                demand.pushes > 0 ? 1 : 0, byGateways, spread >= byBudget ? 0 : byBudget)
        }
    }

    // MARK: Figures

    package var pushes: Int { demand.pushes }
    package var spread: Int { demand.spread }
    /// Seconds from the first push to the last fetch.
    package var totalSeconds: Int { duration + spread }

    /// Pushes a second.
    package var rate: Double { duration > 0 ? Double(pushes) / Double(duration) : 0 }

    /// What lets the pushes leave in time; nil without any.
    package var pace: Pace? {
        pushes > 0 ? Pace(pushes: pushes, over: duration) : nil
    }

    /// Fetches a second, the mean over `totalSeconds`.
    package var meanFetches: Double {
        Double(pushes + demand.streams) / Double(max(1, totalSeconds))
    }

    /// Fetches a second at the fullest, before chance: that of the trapezoid, and of the streams.
    package var peakFetches: Double {
        Double(pushes) / Double(max(1, duration, spread))
            + Double(demand.streams) / Double(max(1, spread))
    }

    /// Seconds over which a rate of fetches is measured, so that chance is at most some 10 %: one,
    /// or as many as 1,000 fetches take.
    package var spanSeconds: Int {
        meanFetches >= 1000 ? 1 : max(1, seconds(1000 / max(meanFetches, 0.001)))
    }

    /// One of the two at most a tenth of the other.
    private static func isEven(_ duration: Int, _ spread: Int) -> Bool {
        min(duration, spread) * 10 <= max(duration, spread)
    }
}

/// Whole seconds, rounded up; bounded, so that sums of a few cannot overflow.
private func seconds(_ value: Double) -> Int {
    value < 1e12 ? Int(value.rounded(.up)) : 1_000_000_000_000
}
