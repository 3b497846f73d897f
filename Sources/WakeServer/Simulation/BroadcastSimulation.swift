/// A broadcast on paper: who is pushed and who fetches in each second, by the plan. Pushes leave
/// evenly, each woken client fetches at an even random moment of the spread after its push, clients
/// on event streams after the first moment.
///
/// What a load of fetches should be like: the fullest second at most 1.3 times the mean over the
/// window, which is all seconds from the first push to the last fetch, D + S of them. The plan's
/// trapezoid alone has peak / mean = 1 + min(D, S) / max(D, S); chance adds some 3.2 / √x at x
/// fetches a second. 100,000 clients, S = 300 s, pushed at 20,000 a second: D = 5 s, the trapezoid
/// gives 1.02, chance at 333 a second 1.18, together 1.20 (a test shows it). At 62 a second chance
/// alone gives 1.4 in single seconds, and no plan can help it: there one looks at spans of 1,000
/// fetches, `fullestSpan`, where chance adds a tenth.
package struct BroadcastSimulation: Sendable, Equatable {
    /// Rows that can be simulated.
    package static let largest = 50_000_000

    package let plan: BroadcastPlan
    /// Pushes in each second of the window.
    package let pushes: [Int]
    /// Fetches in each second of the window.
    package let fetches: [Int]

    /// - Parameters:
    ///   - plan: of at most `largest` rows.
    ///   - seed: of the random moments.
    package init(_ plan: BroadcastPlan, seed: UInt64) {
        precondition(plan.pushes <= Self.largest, "too many rows to simulate")
        self.plan = plan
        let seconds = max(1, plan.totalSeconds)
        var random = SeededGenerator(seed)
        var pushes = [Int](repeating: 0, count: seconds)
        var fetches = [Int](repeating: 0, count: seconds)
        let spread = Double(plan.spread)
        let step = plan.pushes > 0 ? Double(plan.duration) / Double(plan.pushes) : 0
        for push in 0..<plan.pushes {
            let sent = (Double(push) + 0.5) * step
            pushes[min(Int(sent), seconds - 1)] += 1
            fetches[min(Int(sent + spread * random.unit()), seconds - 1)] += 1
        }
        for _ in 0..<plan.demand.streams {
            fetches[min(Int(spread * random.unit()), seconds - 1)] += 1
        }
        self.pushes = pushes
        self.fetches = fetches
    }

    package var seconds: Int { fetches.count }
    package var clients: Int { plan.pushes + plan.demand.streams }

    /// Fetches a second over the whole window.
    package var mean: Double { Double(clients) / Double(seconds) }

    /// Fetches in the fullest second.
    package var fullestSecond: Int { fetches.max() ?? 0 }

    /// Fetches a second in the fullest span of the plan's `spanSeconds`.
    package var fullestSpan: Double {
        let length = min(plan.spanSeconds, seconds)
        var sum = fetches[..<length].reduce(0, +)
        var most = sum
        for second in length..<seconds {
            sum += fetches[second] - fetches[second - length]
            most = max(most, sum)
        }
        return Double(most) / Double(length)
    }

    /// A part of the window, for the table and the plot.
    struct Part: Equatable {
        /// The first second and the one behind the last.
        let from: Int
        let to: Int
        /// A second, the mean.
        let pushes: Double
        let fetches: Double
        /// Fetches in the fullest second.
        let fullest: Int
    }

    /// The window in `count` parts of one length at most; the last may be shorter.
    func parts(_ count: Int) -> [Part] {
        let length = (seconds + count - 1) / count
        return stride(from: 0, to: seconds, by: length).map { part(from: $0, length: length) }
    }

    func part(from: Int, length: Int) -> Part {
        let range = from..<min(from + length, seconds)
        return Part(
            from: range.lowerBound, to: range.upperBound,
            pushes: Double(pushes[range].reduce(0, +)) / Double(range.count),
            fetches: Double(fetches[range].reduce(0, +)) / Double(range.count),
            fullest: fetches[range].max() ?? 0)
    }
}
