package import WakeModel

/// The schedule of rotations: one is due when the current generation has been so for its interval
/// of running time, or when it was asked for. A value that takes the time and events.
///
/// Only time that the service itself has run counts, read from a clock that stands still while the
/// machine is suspended: neither another machine, container or start of it, nor any clock that is
/// set, makes registrations expire early, nor does time in which nobody could renew them. A
/// registration may live longer than twice the interval by a calendar, never shorter than one
/// interval since its last renewal.
package struct RotationSchedule: Sendable, Equatable {
    /// Days of an interval; clients renew 1 to 2⅓ days after their last renewal, whatever it is.
    package static let days = 7...90
    /// Seconds to the latest renewal of a client, see `Reconciler.renewal`.
    package static let longestRenewal = 201_600
    /// Seconds that count between two readings, which are one second apart: a process that was
    /// stopped and goes on has not run in between.
    static let longestStep = 60

    package let interval: Int
    /// To be written to disk now and then, and after a rotation.
    package private(set) var record: RotationRecord
    /// The last reading; nothing before the first counts.
    private var last: Int?
    /// Whether the store began empty with this generation: a count of its first days would be shown
    /// until the next.
    private var isFirst: Bool

    /// - Parameter record: of the last run; without one, or a readable one, a full interval begins.
    package init(interval: Int, record: RotationRecord?, generation: UInt64) {
        precondition(interval > 0)
        self.interval = interval
        self.record = record ?? RotationRecord(generation: generation)
        isFirst = generation == 1 || record == nil
        if self.record.generation != generation {
            // A crash came between the change of keys and the record; or the store is another.
            let (next, isOver) = self.record.generation.addingReportingOverflow(1)
            let isNext = next == generation && !isOver
            self.record = RotationRecord(generation: generation, after: isNext ? record : nil)
            isFirst = !isNext
        }
    }

    /// - Parameter now: seconds of CLOCK_MONOTONIC, of this process.
    package mutating func advance(to now: Int) {
        let passed = min(max(0, now - (last ?? now)), Self.longestStep)
        record.elapsed = min(record.elapsed + passed, 1 << 53)
        last = now
    }

    package var secondsLeft: Int { max(0, interval - record.elapsed) }
    package var isDue: Bool { record.isAsked || secondsLeft == 0 }
    /// A rotation is asked for: also after a restart.
    package mutating func ask() { record.isAsked = true }

    package mutating func rotated(to generation: UInt64) {
        record = RotationRecord(generation: generation, after: record)
        isFirst = false
    }

    /// A broadcast has counted the rows: draws what the page shows of that, once a generation but
    /// the first, for an average over many draws would give the count away.
    mutating func tell(rows: Int, using random: inout some RandomNumberGenerator) {
        guard !isFirst, record.toldIn != record.generation else { return }
        record.told = max(0, min(rows, 1 << 52) + CountNoise.draw(using: &random))
        record.toldIn = record.generation
    }
}

/// The age of a generation across restarts: `data/rotation`. Nothing in it is about people, and no
/// date, clock or machine.
package struct RotationRecord: StateRecord, Equatable {
    package static let format: StaticString = "rotation"
    package static let version = 3
    package static let byteLimit = 512

    /// The number of the generation that the rest is about.
    package fileprivate(set) var generation: UInt64
    /// Seconds that the service has run since it began.
    package fileprivate(set) var elapsed = 0
    /// Whether a rotation was asked for.
    package fileprivate(set) var isAsked = false
    /// The number of registrations that everybody is told, and the generation it was drawn in; nil
    /// before the first. The next generation's broadcast draws again.
    fileprivate(set) var told: Int?
    fileprivate(set) var toldIn: UInt64 = 0

    package init(generation: UInt64, after last: RotationRecord? = nil) {
        self.generation = generation
        (told, toldIn) = (last?.told, last?.toldIn ?? 0)
    }

    package func encode(to state: inout JSONText) {
        state.member("generation", number: generation)
        state.member("elapsed", number: elapsed)
        state.member("asked", bool: isAsked)
        guard let told else { return }
        state.member("told", number: told)
        state.member("told_in", number: toldIn)
    }

    package init(decoding state: inout StateObject) throws(StateDamage) {
        generation = try state.unsigned("generation")
        elapsed = try state.integer("elapsed", in: 0...1 << 53)
        isAsked = try state.bool("asked")
        if state.contains("told") {
            told = try state.integer("told", in: 0...1 << 53)
            toldIn = try state.unsigned("told_in")
        }
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
        return RotationSchedule(interval: interval, record: record, generation: generation)
    }
}
