import WakeSystem

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

    /// The most broadcasts that one push token can be in within any 60 minutes.
    var mostPerHour: Int {
        starts.indices.map { first in
            starts[first...].prefix { $0.second - (starts[first].second + duration) <= 3600 }.count
        }.max() ?? 0
    }

    /// At most 4 lines of 80 columns.
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
