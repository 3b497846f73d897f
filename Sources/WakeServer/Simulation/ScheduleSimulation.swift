package import WakeModel
import WakePush

/// The schedule on paper: when broadcasts would start over a day or more, by the very value that
/// decides it in the service.
package struct ScheduleSimulation: Sendable, Equatable {
    package struct Start: Sendable, Equatable {
        /// Seconds since the simulation began.
        package let second: Int
        package let reasons: BroadcastReasons
    }

    package let hours: Int
    /// Broadcasts that were asked for.
    package let asked: Int
    package let starts: [Start]
    /// Seconds from being asked for to the start, the longest.
    package let longestWait: Int
    /// Seconds of each broadcast.
    private let duration: Int

    /// - Parameters:
    ///   - duration: seconds that each broadcast takes.
    ///   - hours: 1 to 1,000.
    ///   - publishes: at random moments, each asks for a broadcast.
    ///   - seed: of everything random.
    package init(
        _ settings: BroadcastSchedule.Settings, duration: Int, hours: Int = 24,
        publishes: Int = 0, seed: UInt64
    ) {
        precondition((1...1000).contains(hours) && duration >= 0 && publishes >= 0)
        self.hours = hours
        self.duration = duration
        var random = SeededGenerator(seed)
        let length = hours * 3600
        let moments = (0..<publishes).map { _ in Int(random.unit() * Double(length)) }.sorted()
        var world = World(settings, duration: duration, random)
        for moment in moments {
            world.run(until: moment)
            world.ask()
        }
        world.run(until: length)
        asked = publishes
        starts = world.starts
        longestWait = world.longestWait
    }

    /// The most broadcasts that one push token can be in within any 60 minutes.
    package var mostPerHour: Int {
        // A token's turn may come at the end of the first and at the start of the last.
        starts.indices.map { first in
            starts[first...].prefix {
                $0.second - (starts[first].second + duration) <= 3600
            }.count
        }.max() ?? 0
    }

    /// At most 7 lines of 80 columns.
    package var summary: [String] {
        let gaps = zip(starts, starts.dropFirst()).map { $1.second - $0.second }
        let beats = starts.count { $0.reasons.contains(.heartbeat) }
        var lines = [
            "\(starts.count) broadcasts in \(hours) hours, \(beats) of them heartbeats",
            "at most \(mostPerHour) for one device in any hour",
        ]
        if let shortest = gaps.min(), let longest = gaps.max() {
            lines.append(
                "from one start to the next \(FigureText.clock(shortest)) to"
                    + " \(FigureText.clock(longest))")
        }
        if asked > 0 {
            lines.append(
                "\(asked) asked for, waited up to \(FigureText.clock(longestWait)),"
                    + " \(asked - starts.count { $0.reasons.contains(.asked) }) merged with others")
        }
        return lines
    }

    /// The members of an object for scripts.
    package func addMembers(to text: inout JSONText) {
        text.member("hours", number: hours)
        text.member("asked", number: asked)
        text.member("broadcasts", number: starts.count)
        text.member("mostPerHour", number: mostPerHour)
        text.member("longestWaitSeconds", number: longestWait)
        let seconds = starts.map { String($0.second) }.joined(separator: ",")
        text.member("starts", raw: "[\(seconds)]")
    }
}

/// A clock that runs only as the simulation lets it.
private struct World {
    private var random: SeededGenerator
    private var schedule: BroadcastSchedule
    private let duration: Int
    private var now = 0
    private var sequence: UInt64 = 0
    private var runsUntil: Int?
    private var askedAt: Int?
    private(set) var starts: [ScheduleSimulation.Start] = []
    private(set) var longestWait = 0

    init(_ settings: BroadcastSchedule.Settings, duration: Int, _ random: SeededGenerator) {
        self.duration = duration
        self.random = random
        let start = ClockReading(wall: 0, uptime: 0, boot: [UInt8](repeating: 0, count: 16))
        schedule = BroadcastSchedule(settings, history: nil, now: start, using: &self.random)
    }

    private var clock: ClockReading {
        ClockReading(wall: now, uptime: now, boot: [UInt8](repeating: 0, count: 16))
    }

    mutating func ask() {
        sequence += 1
        _ = schedule.ask(sequence: sequence, force: false, now: clock)
        if askedAt == nil { askedAt = now }
    }

    mutating func run(until end: Int) {
        while now < end {
            if let done = runsUntil, done <= now {
                runsUntil = nil
                schedule.ended(now: clock)
            }
            switch schedule.decide(clock, using: &random) {
            case .start(let reasons): start(reasons)
            case .wait(let seconds):
                let next = min(seconds.map { now + $0 } ?? end, runsUntil ?? end)
                now = min(end, max(now + 1, next))
            }
        }
    }

    private mutating func start(_ reasons: BroadcastReasons) {
        schedule.started(sequence: sequence, now: clock)
        starts.append(.init(second: now, reasons: reasons))
        runsUntil = now + duration
        if let askedAt { longestWait = max(longestWait, now - askedAt) }
        askedAt = nil
    }
}
