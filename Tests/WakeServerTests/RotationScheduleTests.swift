import TestSupport
import Testing
import WakeModel
import WakePush
import WakeSystem

@testable import WakeServer

@Suite("The rotation schedule")
struct RotationScheduleTests {
    private static let week = 7 * 86_400

    private func clock(_ uptime: Int, boot: UInt8 = 1, wall: Int = 0) -> ClockReading {
        ClockReading(wall: wall, uptime: uptime, boot: [UInt8](repeating: boot, count: 16))
    }

    private func schedule(
        _ now: ClockReading, _ record: RotationRecord? = nil, generation: UInt64 = 1
    ) -> RotationSchedule {
        RotationSchedule(interval: Self.week, record: record, generation: generation, now: now)
    }

    @Test("a new store is due after one interval of uptime, to the second")
    func interval() {
        var schedule = schedule(clock(1000))
        #expect(schedule.secondsLeft == Self.week && !schedule.isDue)
        schedule.advance(to: clock(1000 + Self.week - 1))
        #expect(schedule.secondsLeft == 1 && !schedule.isDue)
        schedule.advance(to: clock(1000 + Self.week))
        #expect(schedule.isDue)
        schedule.rotated(to: 2, isCompact: true, now: clock(1000 + Self.week + 60))
        #expect(schedule.secondsLeft == Self.week && !schedule.isDue)
        #expect(schedule.record.generation == 2 && !schedule.record.owesCompaction)
    }

    @Test("the wall clock never counts, however it is set")
    func wall() {
        var schedule = schedule(clock(0, wall: 1_800_000_000))
        for wall in [0, 1 << 40, -5, 1_800_000_000 + 10 * Self.week] {
            schedule.advance(to: clock(100, wall: wall))
            #expect(schedule.secondsLeft == Self.week - 100)
        }
    }

    @Test("a restart of the program loses nothing, and time while it did not run counts")
    func restart() {
        var first = schedule(clock(1000))
        first.advance(to: clock(5000))
        let second = schedule(clock(9000), first.record)
        #expect(second.secondsLeft == Self.week - 8000)
    }

    @Test("after a reboot the uptime since counts, and the time when the machine was off does not")
    func reboot() {
        var first = schedule(clock(1000))
        first.advance(to: clock(5000))
        let second = schedule(clock(300, boot: 2), first.record)
        #expect(second.secondsLeft == Self.week - 4300)
        // Without a boot id, uptime that went back shows it.
        let third = schedule(clock(300, boot: 1), first.record)
        #expect(third.secondsLeft == Self.week - 4300)
    }

    @Test("a machine that is on for an hour a day rotates after 168 of them")
    func seldomOn() {
        var record: RotationRecord?
        var days = 0
        while days < 1000 {
            days += 1
            var schedule = schedule(clock(0, boot: UInt8(days % 256)), record)
            schedule.advance(to: clock(3600, boot: UInt8(days % 256)))
            if schedule.isDue { break }
            record = schedule.record
        }
        #expect(days == 168)
    }

    @Test("another interval in the configuration counts from the same beginning")
    func changed() {
        var first = schedule(clock(0))
        first.advance(to: clock(10 * 86_400))
        let longer = RotationSchedule(
            interval: 30 * 86_400, record: first.record, generation: 1, now: clock(10 * 86_400))
        #expect(longer.secondsLeft == 20 * 86_400)
        let shorter = RotationSchedule(
            interval: 8 * 86_400, record: longer.record, generation: 1, now: clock(10 * 86_400))
        #expect(shorter.isDue)
    }

    @Test("one that was asked for, or begun, is due until it is done, across restarts")
    func asked() throws {
        var first = schedule(clock(0))
        first.ask()
        #expect(first.isDue && first.secondsLeft > 0)
        let bytes = first.record.stateFile()
        var second = schedule(clock(50), try RotationRecord(stateFile: bytes))
        #expect(second.isDue)
        second.rotated(to: 2, isCompact: false, now: clock(60))
        #expect(!second.isDue && second.record.owesCompaction)
        second.compacted()
        #expect(!second.record.owesCompaction)
    }

    @Test(
        "a crash between the change of keys and the record: a full interval, and compaction is owed"
    )
    func unrecorded() {
        var first = schedule(clock(0))
        first.advance(to: clock(Self.week))
        first.ask()
        let second = schedule(clock(Self.week + 5), first.record, generation: 2)
        #expect(!second.isDue && second.secondsLeft == Self.week)
        #expect(second.record.owesCompaction)
        // The record of another store says nothing about this one.
        let other = schedule(clock(Self.week + 5), first.record, generation: 99)
        #expect(!other.isDue && other.secondsLeft == Self.week && !other.record.owesCompaction)
    }

    @Test("a record is read back as it was written")
    func roundTrip() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var schedule = RotationSchedule(
                interval: 7, record: nil, generation: .random(in: 1...(1 << 53), using: &random),
                now: clock(.random(in: 0...(1 << 40), using: &random), boot: .random(in: 0...255)))
            schedule.advance(to: clock(.random(in: 0...(1 << 40), using: &random)))
            if Bool.random() { schedule.ask() }
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
            (#""uptime":12"#, #""uptime":-12"#), ("0101", "01"),
            (#""asked":false"#, #""asked":0"#),
        ])
    func damaged(_ part: String, _ other: String) throws {
        let boot = String(repeating: "01", count: 16)
        let members =
            #""generation":1,"elapsed":0,"uptime":12,"boot":"\#(boot)","#
            + #""asked":false,"compaction":false"#
        let record = schedule(clock(12)).record
        #expect(record.stateFile() == sealedState(RotationRecord.self, members))
        let changed = members.replacing(part, with: other)
        #expect(throws: StateFileFault.damaged) {
            try RotationRecord(stateFile: sealedState(RotationRecord.self, changed))
        }
    }
}
