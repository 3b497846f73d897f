import TestSupport
import Testing
import WakeModel
import WakePush
import WakeSystem

@testable import WakeServer

@Suite("The rotation schedule")
struct RotationScheduleTests {
    private static let week = 7 * 86_400

    /// A process that reads its clock first at `start`, then every second until `end`.
    private func run(
        _ record: RotationRecord? = nil, from start: Int = 0, to end: Int, generation: UInt64 = 1
    ) -> RotationSchedule {
        var schedule = RotationSchedule(
            interval: Self.week, record: record, generation: generation)
        for second in start...max(start, end) { schedule.advance(to: second) }
        return schedule
    }

    @Test("a new store is due after one interval of running time, to the second")
    func interval() {
        var schedule = run(from: 1000, to: 1000 + Self.week - 1)
        #expect(schedule.secondsLeft == 1 && !schedule.isDue)
        schedule.advance(to: 1000 + Self.week)
        #expect(schedule.isDue)
        schedule.rotated(to: 2)
        #expect(schedule.secondsLeft == Self.week && !schedule.isDue)
        #expect(schedule.record.generation == 2)
    }

    @Test("a start counts nothing, whatever machine, container or uptime it finds itself in")
    func starts() throws {
        var record = run(from: 0, to: 100).record
        // Each in a container or on a host with another uptime and another start of its own.
        for start in [0, 100, 30 * Self.week, 7, 1 << 40] {
            var schedule = RotationSchedule(
                interval: Self.week, record: try RotationRecord(stateFile: record.stateFile()),
                generation: 1)
            schedule.advance(to: start)
            #expect(schedule.secondsLeft == Self.week - 100)
            record = schedule.record
        }
        let text = String(decoding: record.stateFile(), as: UTF8.self)
        #expect(!text.contains("boot") && !text.contains("uptime"))
    }

    @Test("time in which nobody could renew does not count: stopped, suspended, a clock that jumps")
    func jumps() {
        var schedule = run(from: 0, to: 100)
        for now in [100 + Self.week, 50, 0, 1 << 50, (1 << 50) + 1] { schedule.advance(to: now) }
        // Two jumps ahead, cut to a minute each, and one second.
        #expect(schedule.secondsLeft == Self.week - 100 - 2 * 60 - 1)
        schedule.advance(to: -5)
        schedule.advance(to: 1 << 62)
        #expect(schedule.secondsLeft == Self.week - 100 - 3 * 60 - 1)
    }

    @Test("one that is killed or restarted every minute rotates within two intervals of running")
    func restarted() throws {
        let interval = 86_400
        for life in [2, 60, 90, 3000] {
            var written: RotationRecord?
            var ran = 0
            while ran < 3 * interval {
                // What is written down is all that outlives a kill.
                var schedule = RotationSchedule(
                    interval: interval, record: written, generation: 1)
                var saved = SavedAge()
                for second in 0...life {
                    schedule.advance(to: second)
                    guard saved.isDue(at: second) else { continue }
                    saved.write(at: second)
                    written = schedule.record
                }
                ran += life
                if schedule.isDue { break }
            }
            #expect((interval...2 * interval + life).contains(ran), "\(life)")
        }
    }

    @Test("a machine that is on for an hour a day rotates after 168 of them")
    func seldomOn() {
        var record: RotationRecord?
        var days = 0
        while days < 1000 {
            days += 1
            let schedule = run(record, to: 3600)
            if schedule.isDue { break }
            record = schedule.record
        }
        #expect(days == 168)
    }

    @Test("another interval in the configuration counts from the same beginning")
    func changed() {
        let first = run(to: 604_000)
        let longer = RotationSchedule(
            interval: 30 * 86_400, record: first.record, generation: 1)
        #expect(longer.secondsLeft == 30 * 86_400 - 604_000)
        let shorter = RotationSchedule(interval: 600_000, record: longer.record, generation: 1)
        #expect(shorter.isDue)
    }

    @Test("one that was asked for is due until it is done, across restarts")
    func asked() throws {
        var first = run(to: 0)
        first.ask()
        #expect(first.isDue && first.secondsLeft > 0)
        let bytes = first.record.stateFile()
        var second = run(try RotationRecord(stateFile: bytes), to: 50)
        #expect(second.isDue)
        second.rotated(to: 2)
        #expect(!second.isDue)
    }

    @Test("a crash between the change of keys and the record: a full interval")
    func unrecorded() {
        var first = run(to: 100)
        first.ask()
        let second = run(first.record, to: 0, generation: 2)
        #expect(!second.isDue && second.secondsLeft == Self.week)
        // The record of another store says nothing about this one.
        for generation in [99, 0xFFFF_FFFF_FFFF_FFFF] as [UInt64] {
            let other = run(first.record, to: 0, generation: generation)
            #expect(!other.isDue && other.secondsLeft == Self.week)
            #expect(run(other.record, to: 0).secondsLeft == Self.week)
        }
    }

    @Test("a record is read back as it was written")
    func roundTrip() throws {
        var random = SplitMix64(seed: 17)
        for _ in 0..<200 {
            var schedule = RotationSchedule(
                interval: 7, record: nil, generation: .random(in: 1...(1 << 53), using: &random))
            for _ in 0..<9 { schedule.advance(to: .random(in: 0...(1 << 40), using: &random)) }
            if Bool.random(using: &random) { schedule.ask() }
            let bytes = schedule.record.stateFile()
            #expect(try RotationRecord(stateFile: bytes) == schedule.record)
            #expect(bytes.count <= RotationRecord.byteLimit)
        }
    }

    @Test(
        "members that no schedule writes are damage, also with a correct checksum",
        arguments: [
            (#""generation":1,"#, #""generation":0,"#), (#""elapsed":0"#, #""elapsed":-1"#),
            (#""elapsed":0"#, #""elapsed":99999999999999999999"#),
            (#""elapsed":0"#, #""elapsed":0,"uptime":12"#),
            (#""asked":false"#, #""asked":0"#),
        ])
    func damaged(_ part: String, _ other: String) throws {
        let members = #""generation":1,"elapsed":0,"asked":false"#
        let record = RotationRecord(generation: 1)
        #expect(record.stateFile() == sealedState(RotationRecord.self, members))
        let changed = members.replacing(part, with: other)
        #expect(throws: StateFileFault.damaged) {
            try RotationRecord(stateFile: sealedState(RotationRecord.self, changed))
        }
    }
}
