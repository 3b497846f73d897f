package import WakeModel
package import WakeSystem

/// The schedule of rotations: one is due when the current generation has been so for its interval
/// of uptime, or when it was asked for. A value that takes the time and events.
///
/// Only uptime of the machine counts, never the wall clock: nobody can set it so that registrations
/// expire early. A registration may live longer than twice the interval by a calendar, never
/// shorter than one interval since its last renewal.
package struct RotationSchedule: Sendable, Equatable {
    /// Days of an interval; clients renew 1 to 2⅓ days after their last renewal, whatever it is.
    package static let days = 7...90

    package let interval: Int
    /// To be written to disk now and then, and before and after a rotation.
    package private(set) var record: RotationRecord

    /// - Parameter record: of the last run; without one, or a readable one, a full interval begins.
    package init(interval: Int, record: RotationRecord?, generation: UInt64, now: ClockReading) {
        precondition(interval > 0)
        self.interval = interval
        self.record = record ?? RotationRecord(generation: generation, now: now)
        if self.record.generation != generation {
            // A crash came between the change of keys and the record; or the store is another.
            let isNext = self.record.generation + 1 == generation
            self.record = RotationRecord(generation: generation, now: now)
            self.record.owesCompaction = isNext
        }
        advance(to: now)
    }

    package mutating func advance(to now: ClockReading) {
        let isSameStart = now.boot == record.boot && now.uptime >= record.uptime
        // Another start of the machine: it has been on for its own uptime since.
        let passed = isSameStart ? now.uptime - record.uptime : max(0, now.uptime)
        record.elapsed = min(record.elapsed + passed, 1 << 53)
        record.uptime = max(0, now.uptime)
        record.boot = now.boot
    }

    package var secondsLeft: Int { max(0, interval - record.elapsed) }
    package var isDue: Bool { record.isAsked || secondsLeft == 0 }
    /// A rotation is asked for, or begins: it is repeated when a crash cuts it short.
    package mutating func ask() { record.isAsked = true }

    package mutating func rotated(to generation: UInt64, isCompact: Bool, now: ClockReading) {
        record = RotationRecord(generation: generation, now: now)
        record.owesCompaction = !isCompact
    }

    package mutating func compacted() { record.owesCompaction = false }
}

/// The age of a generation across restarts: `data/rotation`. Nothing in it is about people, and no
/// date: uptime means nothing without the start of the machine it is of.
package struct RotationRecord: StateRecord, Equatable {
    package static let format: StaticString = "rotation"
    package static let version = 1
    package static let byteLimit = 512

    /// The number of the generation that the rest is about.
    package fileprivate(set) var generation: UInt64
    /// Seconds of uptime that it has been current for.
    package fileprivate(set) var elapsed: Int
    /// Uptime up to which they are counted.
    fileprivate(set) var uptime: Int
    /// The start of the machine that uptime is of; 16 bytes.
    fileprivate(set) var boot: [UInt8]
    /// Whether a rotation was asked for, or has begun.
    package fileprivate(set) var isAsked = false
    /// Whether the last rotation had no room to rewrite the database.
    package fileprivate(set) var owesCompaction = false

    package init(generation: UInt64, now: ClockReading) {
        self.generation = generation
        elapsed = 0
        uptime = now.uptime
        boot = now.boot
    }

    package func encode(to state: inout JSONText) {
        state.member("generation", number: generation)
        state.member("elapsed", number: elapsed)
        state.member("uptime", number: uptime)
        state.member("boot", hex: boot)
        state.member("asked", bool: isAsked)
        state.member("compaction", bool: owesCompaction)
    }

    package init(decoding state: inout StateObject) throws(StateDamage) {
        generation = try state.unsigned("generation")
        elapsed = try state.integer("elapsed", in: 0...1 << 53)
        uptime = try state.integer("uptime", in: 0...1 << 53)
        boot = try state.hex("boot", count: 16)
        isAsked = try state.bool("asked")
        owesCompaction = try state.bool("compaction")
        guard generation > 0 else { throw StateDamage() }
    }
}

extension StateFile<RotationRecord> {
    /// The schedule as of now; a damaged file begins a full interval.
    func schedule(interval: Int, generation: UInt64, log: Log) -> RotationSchedule {
        var record: RotationRecord?
        do throws(StateFileError) {
            record = try readIfPresent()
        } catch { log(.rotationFileDamaged) }
        return RotationSchedule(
            interval: interval, record: record, generation: generation, now: .system())
    }
}
