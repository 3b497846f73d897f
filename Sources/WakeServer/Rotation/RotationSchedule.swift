package import WakePush

/// When the generations rotate: once the current one has been so for its interval of uptime, or
/// when it is asked for. A value: it is told the time and what happens.
///
/// Uptime of the machine alone counts, whether or not this program runs. A machine that is off
/// counts nothing, and the wall clock counts never: nobody can set it so that registrations expire
/// early. So a registration may live longer than twice the interval by a calendar, never shorter
/// than one interval since its last renewal.
///
/// Of a start of the machine that nobody saw the end of, only what was written down counts: at most
/// what passed between two writings is lost, and the generation lives as much longer.
package struct RotationSchedule: Sendable, Equatable {
    /// Days of an interval. Clients renew 1 to 2⅓ days after their last renewal, whatever the
    /// interval is: a third of the least.
    package static let days = 7...90

    /// Seconds.
    package let interval: Int
    /// To be written to disk now and then, and before and after a rotation.
    package private(set) var record: RotationRecord

    /// - Parameters:
    ///   - record: of the last run; nil when there was none, or it cannot be read: then a full
    ///     interval begins.
    ///   - generation: number of the one that is current.
    package init(
        interval: Int, record: RotationRecord?, generation: UInt64, now: ClockReading
    ) {
        precondition(interval > 0)
        self.interval = interval
        self.record = record ?? RotationRecord(generation: generation, now: now)
        if self.record.generation != generation {
            // A crash came between the change of keys and its note; or the store is another.
            let isNext = self.record.generation + 1 == generation
            self.record = RotationRecord(generation: generation, now: now)
            self.record.owesCompaction = isNext
        }
        advance(to: now)
    }

    /// Counts what has passed.
    package mutating func advance(to now: ClockReading) {
        let isSameStart = now.boot == record.boot && now.uptime >= record.uptime
        // Another start of the machine: it has been on for its own uptime since.
        let passed = isSameStart ? now.uptime - record.uptime : max(0, now.uptime)
        record.elapsed = min(record.elapsed + passed, 1 << 53)
        record.uptime = max(0, now.uptime)
        record.boot = now.boot
    }

    /// Seconds of uptime until the next one is due.
    package var secondsLeft: Int { max(0, interval - record.elapsed) }

    package var isDue: Bool { record.isAsked || secondsLeft == 0 }

    /// Somebody wants one now, or one begins: it is repeated when a crash cuts it short.
    package mutating func ask() { record.isAsked = true }

    /// It has been done.
    package mutating func rotated(to generation: UInt64, isCompact: Bool, now: ClockReading) {
        record = RotationRecord(generation: generation, now: now)
        record.owesCompaction = !isCompact
    }

    /// What was owed has been done.
    package mutating func compacted() { record.owesCompaction = false }
}
