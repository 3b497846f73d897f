package import WakeModel
import WakeSystem

/// A simulated broadcast: the pushes and fetches of each second, by the plan.
///
/// An even load has at most 1.3 times the mean in its fullest second. Random deviation adds some
/// 3.2 / √x at x fetches a second to the plan's trapezoid: 18 % at 333, so that 100,000 clients
/// with S = 300 s and D = 5 s reach 1.2. At 62 a second it alone gives 1.4 in single seconds;
/// `fullestSpan` compares spans of 1,000 fetches, where it adds a tenth.
package struct BroadcastSimulation {
    /// Rows that can be simulated.
    package static let largest = 50_000_000

    let plan: BroadcastPlan
    /// In each second from the first push to the last fetch.
    let pushes: [Int]
    let fetches: [Int]

    /// - Parameter plan: of at most `largest` rows.
    package init(_ plan: BroadcastPlan, using random: inout some RandomNumberGenerator) {
        precondition(plan.pushes <= Self.largest, "too many rows to simulate")
        self.plan = plan
        let seconds = max(1, plan.totalSeconds)
        var pushes = [Int](repeating: 0, count: seconds)
        var fetches = [Int](repeating: 0, count: seconds)
        let spread = Double(plan.spread)
        let step = plan.pushes > 0 ? Double(plan.duration) / Double(plan.pushes) : 0
        for push in 0..<plan.pushes {
            let sent = (Double(push) + 0.5) * step
            pushes[min(Int(sent), seconds - 1)] += 1
            let fetched = sent + spread * Double.random(in: 0..<1, using: &random)
            fetches[min(Int(fetched), seconds - 1)] += 1
        }
        for _ in 0..<plan.input.streams {
            let fetched = spread * Double.random(in: 0..<1, using: &random)
            fetches[min(Int(fetched), seconds - 1)] += 1
        }
        self.pushes = pushes
        self.fetches = fetches
    }

    var seconds: Int { fetches.count }
    private var clients: Int { plan.pushes + plan.input.streams }
    var mean: Double { Double(clients) / Double(seconds) }
    var fullestSecond: Int { fetches.max() ?? 0 }

    var fullestSpan: Double {
        let length = min(plan.spanSeconds, seconds)
        var sum = fetches[..<length].reduce(0, +)
        var most = sum
        for second in length..<seconds {
            sum += fetches[second] - fetches[second - length]
            most = max(most, sum)
        }
        return Double(most) / Double(length)
    }

    static let tableRows = 24

    private var stretches: [Range<Int>] {
        let length = (seconds + Self.tableRows - 1) / Self.tableRows
        return stride(from: 0, to: seconds, by: length).map { $0..<min($0 + length, seconds) }
    }

    private var secondsOverBudget: Int {
        let budget = plan.input.fetchesPerSecond
        return budget > 0 ? fetches.count { $0 > budget } : 0
    }

    /// The summary and the table for programs.
    package func encode(to text: inout JSONText) {
        text.member("seconds", number: seconds)
        text.member("fetches", number: clients)
        text.member("fullestSecond", number: fullestSecond)
        text.member("secondsOverBudget", number: secondsOverBudget)
        text.beginArray("stretches")
        for range in stretches {
            text.beginObject()
            text.member("from", number: range.lowerBound)
            text.member("to", number: range.upperBound)
            text.member("pushes", number: pushes[range].reduce(0, +))
            text.member("fetches", number: fetches[range].reduce(0, +))
            text.member("fullestSecond", number: fetches[range].max() ?? 0)
            text.endObject()
        }
        text.endArray()
    }

    /// The load as a table, 69 columns wide.
    package var table: [String] {
        let rows = stretches.map { range in
            [
                "\(range.lowerBound)-\(range.upperBound - 1)",
                NumberFormat.rate(Double(pushes[range].reduce(0, +)) / Double(range.count)),
                NumberFormat.rate(Double(fetches[range].reduce(0, +)) / Double(range.count)),
                NumberFormat.grouped(fetches[range].max() ?? 0),
            ]
        }
        return ([["seconds", "pushes/s", "fetches/s", "fullest second"]] + rows).map { cells in
            cells.enumerated().map { NumberFormat.padded($1, to: $0 == 0 ? 15 : 18) }.joined()
        }
    }

    /// The result in a few lines of at most 80 columns.
    package var summary: [String] {
        let mean = max(mean, .leastNormalMagnitude)
        var lines = [
            "\(NumberFormat.grouped(clients)) clients, \(NumberFormat.clock(seconds)) from the"
                + " first push to the last fetch",
            "mean \(NumberFormat.rate(self.mean)) fetches a second",
            "fullest second \(NumberFormat.grouped(fullestSecond)),"
                + " \(ratio(Double(fullestSecond) / mean)) times the mean",
        ]
        if plan.spanSeconds > 1, plan.spanSeconds < seconds {
            lines.append(
                "fullest \(plan.spanSeconds) seconds \(NumberFormat.rate(fullestSpan)) a second,"
                    + " \(ratio(fullestSpan / mean)) times the mean")
        }
        let budget = plan.input.fetchesPerSecond
        if budget > 0 {
            let over = secondsOverBudget
            lines.append(
                "\(over == 0 ? "no second" : "\(NumberFormat.grouped(over)) seconds") over the"
                    + " budget of \(NumberFormat.grouped(budget))")
        }
        return lines
    }

    private func ratio(_ value: Double) -> String { NumberFormat.fixed(value, decimals: 2) }
}

/// A simulated day or more of the schedule, by the value that decides it in the service.
package struct ScheduleSimulation {
    private let hours: Int
    private let asked: Int
    private(set) var starts: [(second: Int, reasons: BroadcastReasons)] = []
    private(set) var longestWait = 0
    private let duration: Int

    /// - Parameter duration: seconds of each broadcast; `publishes` come at random moments.
    package init(
        heartbeatSeconds: Int?, duration: Int, hours: Int = 24, publishes: Int = 0,
        using random: inout some RandomNumberGenerator
    ) {
        precondition((1...1000).contains(hours) && duration >= 0 && publishes >= 0)
        self.hours = hours
        self.duration = duration
        asked = publishes
        let end = hours * 3600
        var requests = (0..<publishes).map { _ in Int.random(in: 0..<end, using: &random) }.sorted()
        var schedule = BroadcastSchedule(
            heartbeatSeconds: heartbeatSeconds, history: nil, now: Self.clock(0), using: &random)
        var (now, sequence) = (0, UInt64(0))
        var (runsUntil, askedAt): (Int?, Int?) = (nil, nil)
        while now < end {
            while let request = requests.first, request <= now {
                requests.removeFirst()
                sequence += 1
                _ = schedule.ask(sequence: sequence, force: false, now: Self.clock(now))
                askedAt = askedAt ?? now
            }
            if let done = runsUntil, done <= now {
                runsUntil = nil
                schedule.ended(now: Self.clock(now))
            }
            switch schedule.decide(Self.clock(now), using: &random) {
            case .start(let reasons):
                schedule.started(sequence: sequence, now: Self.clock(now))
                starts.append((now, reasons))
                runsUntil = now + duration
                if let asked = askedAt { longestWait = max(longestWait, now - asked) }
                askedAt = nil
            case .wait(let seconds):
                let next = [seconds.map { now + $0 }, runsUntil, requests.first].compactMap(\.self)
                now = max(now + 1, next.min() ?? end)
            }
        }
    }

    private static func clock(_ second: Int) -> ClockReading {
        ClockReading(wall: second, uptime: second, boot: [UInt8](repeating: 0, count: 16))
    }

    var mostPerHour: Int {
        starts.indices.map { first in
            starts[first...].prefix { $0.second - (starts[first].second + duration) <= 3600 }.count
        }.max() ?? 0
    }

    /// The summary for programs.
    package func encode(to text: inout JSONText) {
        text.member("hours", number: hours)
        text.member("broadcasts", number: starts.count)
        text.member("heartbeats", number: starts.count { $0.reasons.contains(.heartbeat) })
        text.member("mostInAnHour", number: mostPerHour)
        text.member("asked", number: asked)
        text.member("longestWaitSeconds", number: longestWait)
    }

    package var summary: [String] {
        let gaps = zip(starts, starts.dropFirst()).map { $1.second - $0.second }
        let beats = starts.count { $0.reasons.contains(.heartbeat) }
        var lines = [
            "\(starts.count) broadcasts in \(hours) hours, \(beats) of them heartbeats",
            "at most \(mostPerHour) for one device in any hour",
        ]
        if let shortest = gaps.min(), let longest = gaps.max() {
            lines.append(
                "from one start to the next \(NumberFormat.clock(shortest)) to"
                    + " \(NumberFormat.clock(longest))")
        }
        if asked > 0 {
            lines.append(
                "\(asked) asked for, waited up to \(NumberFormat.clock(longestWait)),"
                    + " \(asked - starts.count { $0.reasons.contains(.asked) }) merged with others")
        }
        return lines
    }
}
