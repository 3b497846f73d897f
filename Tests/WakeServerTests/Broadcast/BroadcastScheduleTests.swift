import TestSupport
import Testing
import WakeModel
import WakePush
import WakeSystem

@testable import WakeServer

@Suite("The schedule of broadcasts")
struct BroadcastScheduleTests {
    private static let boot = [UInt8](repeating: 1, count: 16)
    private static let nextBoot = [UInt8](repeating: 2, count: 16)
    private static let year = 365 * 86_400

    private var random = SplitMix64(seed: 1)

    private func at(
        _ uptime: Int, wall: Int? = nil, boot: [UInt8] = Self.boot
    ) -> ClockReading {
        ClockReading(wall: wall ?? 1_800_000_000 + uptime, uptime: uptime, boot: boot)
    }

    private mutating func schedule(
        heartbeat: Int? = nil, at now: ClockReading, _ history: BroadcastHistory? = nil
    ) -> BroadcastSchedule {
        BroadcastSchedule(
            heartbeatSeconds: heartbeat, history: history, now: now, using: &random)
    }

    /// Three broadcasts of no length at 10,000, 10,010 and 10,020.
    private mutating func full(heartbeat: Int? = nil) -> BroadcastSchedule {
        var schedule = schedule(heartbeat: heartbeat, at: at(10_000))
        for number in 0..<3 {
            schedule.started(sequence: UInt64(number + 1), now: at(10_000 + 10 * number))
            schedule.ended(now: at(10_000 + 10 * number))
        }
        return schedule
    }

    private mutating func restarted(
        _ schedule: BroadcastSchedule, heartbeat: Int? = nil, at now: ClockReading
    ) throws -> BroadcastSchedule {
        let history = try BroadcastHistory(stateFile: schedule.history.stateFile())
        #expect(history == schedule.history)
        return self.schedule(heartbeat: heartbeat, at: now, history)
    }

    @Test("a run in which nothing can have arrived does not count")
    mutating func inVain() {
        var schedule = self.schedule(at: at(10_000))
        for number in 0..<9 {
            schedule.started(sequence: UInt64(number + 1), now: at(10_000 + number))
            #expect(schedule.recentRuns == 0)
            schedule.ended(now: at(10_000 + number), hasArrived: false)
        }
        schedule.started(sequence: 10, now: at(10_010))
        schedule.ended(now: at(10_020))
        schedule.started(sequence: 11, now: at(10_030))
        schedule.ended(now: at(10_040))
        schedule.started(sequence: 12, now: at(10_050))
        #expect(schedule.recentRuns == 2)
        // What waits while one is going on waits for its hour only when that one counts.
        _ = schedule.ask(sequence: 13, force: false, now: at(10_060))
        #expect(!schedule.isNextDue(at(10_060)))
        #expect(schedule.isNextDue(at(10_060), hasArrived: false))
        schedule.ended(now: at(10_060), hasArrived: false)
        #expect(schedule.history.ends == [10_020, 10_040] && schedule.recentRuns == 2)
    }

    @Test("a request that waits can be dropped, a heartbeat that waits is not")
    mutating func cancelled() {
        var schedule = full()
        var dropped = schedule.cancel(now: at(10_021))
        #expect(!dropped)
        _ = schedule.ask(sequence: 4, force: false, now: at(10_022))
        dropped = schedule.cancel(now: at(10_023))
        #expect(dropped && schedule.history.pending == [])
        #expect(schedule.decide(at(14_000), using: &random) == .wait(seconds: nil))
        var beating = self.schedule(heartbeat: 7200, at: at(0))
        _ = beating.decide(at(7200), using: &random)
        dropped = beating.cancel(now: at(7201))
        #expect(!dropped && beating.history.pending == .heartbeat)
    }

    @Test("three start at once, the fourth waits for an hour after the first and is not lost")
    mutating func limit() {
        var schedule = full()
        #expect(schedule.decide(at(10_021), using: &random) == .wait(seconds: nil))
        #expect(schedule.ask(sequence: 4, force: false, now: at(10_021)) == .waits(seconds: 3580))
        #expect(schedule.decide(at(10_021), using: &random) == .wait(seconds: 3580))
        // Forced ones too, and what waits together is one.
        #expect(schedule.ask(sequence: 4, force: true, now: at(11_021)) == .waits(seconds: 2580))
        let isNew = schedule.headSeen(sequence: 5, now: at(12_021))
        #expect(isNew)
        #expect(schedule.decide(at(13_600), using: &random) == .wait(seconds: 1))
        #expect(schedule.secondsToNextStart(at(13_600)) == 1)
        #expect(schedule.decide(at(13_601), using: &random) == .start([.asked, .watched]))
        schedule.started(sequence: 5, now: at(13_601))
        schedule.ended(now: at(13_602))
        #expect(schedule.decide(at(13_602), using: &random) == .wait(seconds: nil))
        let isNewAgain = schedule.headSeen(sequence: 5, now: at(13_602))
        #expect(!isNewAgain)
    }

    @Test("another broadcast is due beside one that runs when it could start at its end")
    mutating func nextDue() {
        var schedule = schedule(at: at(0))
        #expect(!schedule.isNextDue(at(0)))
        for start in [0, 10, 20] {
            schedule.started(sequence: 1, now: at(start))
            #expect(!schedule.isNextDue(at(start)))
            #expect(
                schedule.ask(sequence: 1, force: true, now: at(start + 1)) == .waits(seconds: nil))
            // The third in an hour leaves no room for a fourth.
            #expect(schedule.isNextDue(at(start + 2)) == (start < 20))
            schedule.ended(now: at(start + 3))
            #expect(!schedule.isNextDue(at(start + 4)))
        }
        var beating = self.schedule(heartbeat: 7200, at: at(0))
        beating.started(sequence: 1, now: at(0))
        #expect(!beating.isNextDue(at(0)) && beating.isNextDue(at(7200)))
    }

    @Test("the hour counts from the end of a broadcast: a token may be the last of it")
    mutating func endCounts() {
        var schedule = schedule(at: at(0))
        schedule.started(sequence: 1, now: at(0))
        #expect(schedule.ask(sequence: 2, force: false, now: at(5)) == .waits(seconds: nil))
        #expect(schedule.decide(at(5000), using: &random) == .wait(seconds: nil))
        #expect(schedule.secondsToNextStart(at(5000)) == nil)
        schedule.ended(now: at(5000))
        for sequence in 2...3 as ClosedRange<UInt64> {
            schedule.started(sequence: sequence, now: at(5000 + Int(sequence) - 2))
            schedule.ended(now: at(5001))
        }
        #expect(schedule.ask(sequence: 4, force: false, now: at(5002)) == .waits(seconds: 3599))
        #expect(schedule.decide(at(8600), using: &random) == .wait(seconds: 1))
        #expect(schedule.decide(at(8601), using: &random) == .start(.asked))
    }

    @Test("nothing newer is refused unless forced, also while that sequence is being broadcast")
    mutating func notNewer() {
        var schedule = schedule(at: at(0))
        #expect(schedule.ask(sequence: 0, force: false, now: at(0)) == .notNewer)
        #expect(schedule.ask(sequence: 7, force: false, now: at(0)) == .waits(seconds: 0))
        schedule.started(sequence: 7, now: at(0))
        #expect(schedule.ask(sequence: 7, force: false, now: at(1)) == .notNewer)
        #expect(schedule.ask(sequence: 6, force: true, now: at(1)) == .waits(seconds: nil))
        schedule.ended(now: at(2))
        #expect(schedule.ask(sequence: 7, force: false, now: at(2)) == .notNewer)
        #expect(schedule.decide(at(2), using: &random) == .start(.asked))
    }

    @Test("what waits survives a restart, and so does what was sent")
    mutating func restart() throws {
        var schedule = full()
        _ = schedule.ask(sequence: 4, force: false, now: at(10_030))
        schedule = try restarted(schedule, at: at(10_040))
        #expect(schedule.decide(at(10_040), using: &random) == .wait(seconds: 3561))
        #expect(schedule.decide(at(13_601), using: &random) == .start(.asked))
    }

    @Test(
        "after a reboot only the uptime counts, wherever the wall clock was set",
        arguments: [0, 60, year, 10 * year])
    mutating func reboot(_ forward: Int) throws {
        let wall = 1_800_010_020 + 100 + forward
        let booted = try {
            var schedule = full()
            _ = schedule.ask(sequence: 4, force: true, now: at(10_020))
            return try restarted(
                schedule, at: at(100, wall: wall, boot: Self.nextBoot))
        }()
        var schedule = booted
        // The end of the first is 20 + 100 seconds ago for certain.
        let now = at(100, wall: wall, boot: Self.nextBoot)
        #expect(schedule.decide(now, using: &random) == .wait(seconds: 3601 - 120))
        // Wherever it is set from now on.
        for wall in [wall - Self.year, 0, wall + Self.year] {
            let now = at(3580, wall: wall, boot: Self.nextBoot)
            #expect(schedule.decide(now, using: &random) == .wait(seconds: 1))
        }
        let then = at(3581, wall: 0, boot: Self.nextBoot)
        #expect(schedule.decide(then, using: &random) == .start(.asked))
    }

    @Test("a wall clock set back, or a file from another machine, costs an hour at most")
    mutating func setBack() throws {
        for wall in [1_800_010_020 - Self.year, 0, -1, Int.min, 1_800_010_020] {
            var schedule = full()
            _ = schedule.ask(sequence: 4, force: false, now: at(10_020))
            // A machine that has been up for a month.
            let now = at(30 * 86_400, wall: wall, boot: Self.nextBoot)
            schedule = try restarted(schedule, at: now)
            #expect(schedule.decide(now, using: &random) == .wait(seconds: 3581))
        }
    }

    @Test("within one start of the machine no wall clock matters at all")
    mutating func wallClock() {
        for wall in [0, 1_800_000_000 - Self.year, 1_800_000_000 + Self.year, Int.max] {
            var schedule = full()
            _ = schedule.ask(sequence: 4, force: true, now: at(10_100, wall: wall))
            #expect(
                schedule.decide(at(13_600, wall: wall / 2), using: &random) == .wait(seconds: 1))
            #expect(schedule.decide(at(13_601, wall: -wall), using: &random) == .start(.asked))
        }
    }

    @Test("a damaged history costs an hour at most")
    mutating func damaged() {
        let now = at(50_000)
        var schedule = schedule(at: now, .unknown(now))
        #expect(schedule.ask(sequence: 1, force: true, now: now) == .waits(seconds: 3601))
        #expect(schedule.decide(at(53_601), using: &random) == .start(.asked))
    }

    @Test("a run that a crash cut short counts as two; a clean stop repeats nothing")
    mutating func resumed() throws {
        for isClean in [false, true] {
            var schedule = schedule(at: at(0))
            schedule.started(sequence: 1, now: at(10))
            if isClean { schedule.stopping(now: at(20)) }
            schedule = try restarted(schedule, at: at(30))
            #expect(schedule.history.isRunning)
            #expect(schedule.history.run == 1)
            #expect(schedule.decide(at(40), using: &random) == .wait(seconds: nil))
            schedule.ended(now: at(50))
            schedule.started(sequence: 2, now: at(60))
            schedule.ended(now: at(70))
            let third = schedule.ask(sequence: 3, force: false, now: at(80))
            #expect(third == .waits(seconds: isClean ? 0 : 30 + 3601 - 80))
        }
    }

    @Test("a stop is clean only once")
    mutating func cleanOnce() throws {
        var schedule = schedule(at: at(0))
        schedule.started(sequence: 1, now: at(10))
        schedule.stopping(now: at(20))
        schedule = try restarted(schedule, at: at(30))
        schedule = try restarted(schedule, at: at(40))
        #expect(schedule.history.ends == [40, 40])
    }

    @Test("a run without a checkpoint is sent again when allowed")
    mutating func lost() throws {
        var schedule = schedule(at: at(0))
        schedule.started(sequence: 9, now: at(10))
        schedule = try restarted(schedule, at: at(30))
        schedule.lost(now: at(31))
        #expect(schedule.decide(at(31), using: &random) == .start(.asked))
    }

    @Test("another interval is drawn again, the same one is kept over restarts")
    mutating func change() throws {
        var schedule = schedule(heartbeat: 7200, at: at(0))
        let heartbeat = try #require(schedule.history.heartbeat)
        for step in 1...50 {
            schedule = try restarted(schedule, heartbeat: 7200, at: at(step))
            #expect(schedule.history.heartbeat == heartbeat)
        }
        schedule = try restarted(schedule, heartbeat: 1200, at: at(60))
        let other = try #require(schedule.history.heartbeat)
        #expect(other.interval == 1200 && other.end == 1260)
        #expect((60..<1260).contains(other.due))
        schedule = try restarted(schedule, at: at(61))
        #expect(schedule.decide(at(1_000_000), using: &random) == .wait(seconds: nil))
        #expect(schedule.secondsToNextStart(at(61)) == nil)
    }

    @Test("changes of the settings do not forget what was sent")
    mutating func changeKeepsLimit() throws {
        var schedule = full(heartbeat: 7200)
        for step in 0..<100 {
            let interval = [1200, 3600, nil][step % 3]
            schedule = try restarted(schedule, heartbeat: interval, at: at(10_030 + step))
            _ = schedule.ask(sequence: 99, force: true, now: at(10_030 + step))
            if case .start = schedule.decide(at(10_030 + step), using: &random) {
                Issue.record("a fourth broadcast")
            }
        }
        #expect(schedule.secondsToNextStart(at(10_130)) == 13_601 - 10_130)
    }
}
