import TestSupport
import Testing
import WakeModel
import WakePush
import WakeSystem

@testable import WakeServer

@Suite("No push token gets more than three pushes in any hour")
struct ScheduleWorldTests {
    @Test("over kills, stops, reboots, changed settings and wrong clocks", arguments: 0..<60)
    func anyWorld(_ seed: Int) throws {
        var world = ScheduleWorld(seed: UInt64(seed))
        try world.run(steps: 4000)
        #expect(world.runs.count > 20)
        for index in world.runs.indices.dropFirst(3) where !world.runs[index].isResumed {
            let gap = world.runs[index].start - world.runs[index - 3].end
            #expect(gap > 3600, "runs \(index - 3) and \(index)")
        }
    }

    @Test("two restarts, a changed setting and a clock set back one year within an hour")
    func story() throws {
        for seed in 0..<50 as Range<UInt64> {
            var world = ScheduleWorld(seed: seed)
            try world.runStory()
            #expect(world.runs.count == 3)
        }
    }
}

/// A machine with clocks, a disk and a service that broadcasts; what really happens is kept by a
/// time that nobody in the world can see.
private struct ScheduleWorld {
    struct Run {
        let start: Double
        var end: Double
        /// It went on after a crash: it had to, however close it is to others.
        var isResumed = false
    }

    private var random: SplitMix64
    private var time = 0.0
    /// When this start of the machine began, and how wrong the wall clock is.
    private var booted = -5000.25
    private var wallError = 0
    private var boot = [UInt8](repeating: 0, count: 16)
    /// The bytes of the state file.
    private var disk: [UInt8]?
    private var schedule: BroadcastSchedule

    /// A part of a run between two crashes counts as a run.
    private(set) var runs: [Run] = []

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        let now = ClockReading(wall: 0, uptime: 0, boot: boot)
        schedule = BroadcastSchedule(
            heartbeatSeconds: 7200, history: nil, now: now, using: &random)
    }

    private var now: ClockReading {
        ClockReading(
            wall: 1_800_000_000 + Int(time) + wallError, uptime: Int(time - booted), boot: boot)
    }

    private mutating func save() { disk = schedule.history.stateFile() }

    private mutating func restart() throws {
        try restart(heartbeat: [1200, 2400, 7200, nil][Int.random(in: 0..<4, using: &random)])
    }

    private mutating func restart(heartbeat interval: Int?) throws {
        let history = try disk.map { try BroadcastHistory(stateFile: $0) }
        schedule = BroadcastSchedule(
            heartbeatSeconds: interval, history: history, now: now, using: &random)
        save()
    }

    private mutating func reboot() {
        time += Double.random(in: 5...400, using: &random)
        booted = time - Double.random(in: 0...3, using: &random)
        boot = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private mutating func followSchedule() {
        switch schedule.decide(now, using: &random) {
        case .wait: break
        case .start:
            schedule.started(sequence: UInt64(time), now: now)
            save()
            runs.append(Run(start: time, end: time))
        }
    }

    /// Pushes of the run leave until now.
    private mutating func advance(_ seconds: Double) {
        time += seconds
        if schedule.history.isRunning { runs[runs.count - 1].end = time }
    }

    private mutating func end() {
        guard schedule.history.isRunning else { return }
        runs[runs.count - 1].end = time
        schedule.ended(now: now)
        save()
    }

    mutating func run(steps: Int) throws {
        for _ in 0..<steps {
            advance(Double.random(in: 0...400, using: &random))
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<20: ask()
            case 20..<24: try kill()
            case 24..<26: try kill(andReboot: true)
            case 26..<29: try stop()
            case 29..<32:
                wallError = Int.random(in: -2...2, using: &random) * 365 * 86_400
            case 32..<60: end()
            default: break
            }
            followSchedule()
            checkNextStart()
        }
    }

    /// What waits starts when it says it will, within an hour.
    private mutating func checkNextStart() {
        guard !schedule.history.isRunning, !schedule.history.pending.isEmpty,
            let seconds = schedule.secondsToNextStart(now)
        else { return }
        #expect(seconds <= 3601)
        var later = schedule
        let then = ClockReading(wall: 0, uptime: now.uptime + seconds, boot: boot)
        guard case .start = later.decide(then, using: &random) else {
            Issue.record("does not start when it said")
            return
        }
    }

    private mutating func ask() {
        let force = Bool.random(using: &random)
        _ = schedule.ask(sequence: UInt64(time), force: force, now: now)
        save()
    }

    /// Nothing is written any more. What ran goes on as a part of its own, since a token may be
    /// pushed in both.
    private mutating func kill(andReboot: Bool = false) throws {
        let ran = schedule.history.isRunning
        if andReboot { reboot() } else { time += Double.random(in: 0...20, using: &random) }
        try restart()
        if ran { runs.append(Run(start: time, end: time, isResumed: true)) }
    }

    private mutating func stop() throws {
        schedule.stopping(now: now)
        save()
        time += Double.random(in: 0...100, using: &random)
        try restart()
    }

    /// Asks all the time and broadcasts whenever it may, for an hour.
    mutating func runStory() throws {
        let events = (0..<4).map { _ in Double.random(in: 1...3500, using: &random) }.sorted()
        for (index, moment) in events.enumerated() {
            try broadcastWheneverAllowed(until: moment)
            switch index {
            case 0: try stop()
            case 1: wallError -= 365 * 86_400
            case 2:
                reboot()
                try restart()
            default: try restart(heartbeat: 1200)
            }
        }
        try broadcastWheneverAllowed(until: 3600)
    }

    private mutating func broadcastWheneverAllowed(until moment: Double) throws {
        while time < moment {
            ask()
            followSchedule()
            time += 1
            end()
        }
    }
}
