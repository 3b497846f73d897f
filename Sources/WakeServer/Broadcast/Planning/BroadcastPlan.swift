package import WakeModel
import WakePush
import WakeSystem

/// The plan of a broadcast: how fast it goes, and the load of fetches that follows.
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
/// so peak / mean = 1 + min(D, S) / max(D, S): even when one is at most a tenth of the other.
/// Random moments come on top: the fullest of some hundred spans with x fetches has x + 3.2 √x.
///
/// D keeps the budget unless S alone is long enough: the server's pace is its own, while S comes
/// from the heads that clients have. Event streams are woken at once, so only S can spread them.
package struct BroadcastPlan: Equatable {
    enum Warning: Equatable {
        /// It takes 80 to 100 % of the interval.
        case nearlyFull(percent: Int)
        /// Peak over mean, in hundredths; another spread would mend it.
        case uneven(hundredths: Int)
        /// Fetches a second of clients on event streams: more than half the budget.
        case streams(perSecond: Int)
        case noGateway
    }

    let input: PlanInput
    /// Seconds in which the pushes leave; 0 without any.
    package let duration: Int
    /// Seconds over which the pace spreads them: gateways that are slower need no pace.
    let paceSeconds: Int
    /// The spread for the feed's next head: even, and long enough for event streams.
    let publishedSpread: Int
    let warnings: [Warning]

    /// - Throws: when it would not be over before the next heartbeat.
    init(_ input: PlanInput) throws(PlanError) {
        self.input = input
        let spread = input.spread
        let time = Time(input, spread: spread)
        duration = time.duration
        paceSeconds = max(1, spread >= time.byBudget ? 0 : time.byBudget)
        guard duration + spread <= input.intervalSeconds else {
            throw PlanError(
                input, byGateways: time.byGateways, byBudget: time.byBudget, took: duration)
        }
        let isEven = Self.isEven(duration, spread)
        let forStreams = seconds(2 * Double(input.streams) / input.usableFetches)
        let even = isEven ? spread : max(time.byGateways, time.byBudget) / 10
        let published = min(max(even, forStreams), PlanInput.longestSpread)
        // Advice that would be refused once it is followed is none.
        let total = Time(input, spread: published).duration + published
        publishedSpread = total <= input.intervalSeconds ? published : spread

        var warnings: [Warning] = []
        let percent = (duration + spread) * 100 / input.intervalSeconds
        if percent >= 80 { warnings.append(.nearlyFull(percent: percent)) }
        if !isEven {
            let ratio = 100 + 100 * min(duration, spread) / max(duration, spread)
            warnings.append(.uneven(hundredths: ratio))
        }
        if time.streamRate > input.usableFetches / 2 {
            warnings.append(.streams(perSecond: Int(time.streamRate.rounded(.up))))
        }
        if input.rows > 0, input.gateways.isEmpty, input.topic == nil {
            warnings.append(.noGateway)
        }
        self.warnings = warnings
    }

    private struct Time {
        /// Seconds that the gateways need, and seconds that keep the budget by the pace alone.
        let byGateways: Int
        let byBudget: Int
        let duration: Int
        let streamRate: Double

        init(_ input: PlanInput, spread: Int) {
            let pushes = Double(input.pushes)
            byGateways = seconds(input.slowest?.seconds(for: pushes) ?? 0)
            streamRate = Double(input.streams) / Double(max(1, spread))
            let usable = input.usableFetches
            // The streams take what they take; pushes are not starved for their sake.
            byBudget = seconds(pushes / max(usable / 2, usable - streamRate))
            duration = max(input.pushes > 0 ? 1 : 0, byGateways, spread >= byBudget ? 0 : byBudget)
        }
    }

    package var pushes: Int { input.pushes }
    var spread: Int { input.spread }
    var totalSeconds: Int { duration + spread }
    var rate: Double { duration > 0 ? Double(pushes) / Double(duration) : 0 }
    /// Fetches a second, the mean over `totalSeconds`.
    var meanFetches: Double { Double(pushes + input.streams) / Double(max(1, totalSeconds)) }

    /// Fetches a second at the peak of the trapezoid and of the streams, without random deviation.
    var peakFetches: Double {
        Double(pushes) / Double(max(1, duration, spread))
            + Double(input.streams) / Double(max(1, spread))
    }

    private static func isEven(_ duration: Int, _ spread: Int) -> Bool {
        min(duration, spread) * 10 <= max(duration, spread)
    }
}

/// Whole seconds, rounded up; bounded, so that sums of a few cannot overflow.
private func seconds(_ value: Double) -> Int {
    value < 1e12 ? Int(value.rounded(.up)) : 1_000_000_000_000
}

extension BroadcastPlan {
    /// The same for programs: seconds, and fetches a second, rounded up.
    package func encode(to text: inout JSONText) {
        text.member("registrations", number: input.rows)
        text.member("pushes", number: pushes)
        text.member("streams", number: input.streams)
        text.member("topics", number: input.topic?.shards ?? 0)
        text.member("pushSeconds", number: duration)
        text.member("spreadSeconds", number: spread)
        text.member("totalSeconds", number: totalSeconds)
        text.member("intervalSeconds", number: input.intervalSeconds)
        text.member("fetchesMean", number: Int(meanFetches.rounded(.up)))
        text.member("fetchesPeak", number: Int(peakFetches.rounded(.up)))
        text.member("fetchesPerSecond", number: input.fetchesPerSecond)
        text.member("publishSpreadSeconds", number: publishedSpread)
        text.member("warnings", strings: warnings.map(self.text))
    }

    /// The plan as a table for people, at most 80 columns wide.
    package var lines: [String] {
        let budget = input.fetchesPerSecond
        var rows: [(String, String, String)] = [
            ("registrations", NumberFormat.grouped(input.rows), "estimate"),
            ("pushes", NumberFormat.grouped(pushes), "\(NumberFormat.rate(rate)) a second"),
            ("event streams", NumberFormat.grouped(input.streams), "woken at once"),
            ("pushes leave in", NumberFormat.clock(duration), boundText),
            ("clients spread over", NumberFormat.clock(spread), "of the head they have"),
            (
                "takes in all", NumberFormat.clock(totalSeconds),
                "of an interval of \(NumberFormat.clock(input.intervalSeconds))"
            ),
            ("fetches, mean", NumberFormat.rate(meanFetches), "a second"),
            (
                "fetches, peak", NumberFormat.rate(peakFetches),
                "a second, " + (budget > 0 ? "budget \(NumberFormat.grouped(budget))" : "no budget")
            ),
        ]
        if let topic = input.topic {
            let seconds = NumberFormat.clock(topic.shards == 1 ? 0 : topic.seconds)
            rows.append(("messages to topics", "\(topic.shards)", "in \(seconds), to anybody"))
        }
        if publishedSpread != spread {
            rows.append(("spread to publish", NumberFormat.clock(publishedSpread), "in the head"))
        }
        let table = rows.map { name, value, note in
            let padding = String(repeating: " ", count: max(1, 21 - name.count))
            return name + padding + NumberFormat.padded(value, to: 14) + "  " + note
        }
        return table + warnings.map { "warning: " + text($0) }
    }

    private func text(_ warning: Warning) -> String {
        switch warning {
        case .nearlyFull(let percent):
            "this is \(percent) % of the interval: there is little room to grow"
        case .uneven(let hundredths):
            "the peak is \(NumberFormat.fixed(Double(hundredths) / 100, decimals: 2)) times the"
                + " mean: publish a spread of \(publishedSpread) s"
        case .streams(let perSecond):
            "event streams alone bring \(NumberFormat.grouped(perSecond)) fetches a second:"
                + " publish a spread of \(publishedSpread) s"
        case .noGateway: "no gateway works: only event streams are woken"
        }
    }

    private var boundText: String {
        guard let slowest = input.slowest, pushes > 0 else { return "nothing to push" }
        let byGateway = slowest.seconds(for: Double(pushes))
        if paceSeconds > 1, Double(duration) > byGateway + 1 {
            return "bound by the budget of fetches"
        }
        let isKnown = input.gateways.allSatisfy { $0.last != nil || $0.quotaPerMinute != nil }
        return isKnown
            ? "bound by \(slowest.service.name)" : "at least: no broadcast has shown how fast"
    }
}

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
            let remedy: String =
                switch service {
                case .webPush: "allow more requests at once to a host with [webpush] per-host"
                case .fcm: "ask fcm for a higher quota, or give it more connections"
                case .apns, .apnsSandbox: "give \(service.name) more connections"
                }
            hints = [remedy, fetches].compactMap(\.self)
            if hints.count > 1 { hints = [hints.joined(separator: " and ")] }
        case .budget:
            if let fetches { hints.append(fetches) }
        }
        // Whole minutes, and room so that it does not warn at once.
        let minutes = (neededSeconds * 5 / 4 + 59) / 60
        hints.append("make the interval \(NumberFormat.grouped(minutes * 60)) seconds")
        return hints
    }
}
