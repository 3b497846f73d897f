import WakeModel
package import WakeStore

/// What an operator is told before and after a rotation: numbers.
package struct RotationStatus: Sendable, Equatable {
    /// Of the current generation.
    package var generation: Int
    /// Seconds of uptime until the next rotation.
    package var secondsLeft: Int
    /// Registrations that it would drop, about.
    package var dropped: Int
    /// Registrations that it would keep, about.
    package var kept: Int
    /// Bytes on the disk that it needs for a moment.
    package var needed: Int
    /// Bytes that there are; -1: not known.
    package var free: Int
    package var isDue = false
    package var isRotating = false
    /// A round of pushes is in work, for which it waits.
    package var isRoundRunning = false
    /// The last rotation had no room to write the database anew.
    package var owesCompaction = false
    /// Of this run of the service.
    package var rotations = 0
    package var failures = 0
    /// Dropped by the last one of them.
    package var lastDropped = 0
    /// 0, or what the last failure was.
    package var lastFailure = 0

    init(_ survey: StoreSurvey, _ schedule: RotationSchedule) {
        generation = Int(clamping: survey.generation)
        secondsLeft = schedule.secondsLeft
        dropped = survey.previous
        kept = survey.current
        needed = survey.bytes
        free = survey.free ?? -1
        isDue = schedule.isDue
        owesCompaction = schedule.record.owesCompaction
    }

    init(_ survey: StoreSurvey, _ state: Rotator.State, isRoundRunning: Bool) {
        self.init(survey, state.schedule)
        isRotating = state.isRotating
        self.isRoundRunning = isRoundRunning
        rotations = state.rotations
        failures = state.failures
        switch state.last {
        case .rotated(let report): lastDropped = report.dropped
        case .failed(let failure): lastFailure = failure.number
        case nil: break
        }
    }

    // MARK: On the wire

    private static let numbers: [(StaticString, any WritableKeyPath<Self, Int> & Sendable)] = [
        ("generation", \.generation), ("seconds", \.secondsLeft), ("dropped", \.dropped),
        ("kept", \.kept), ("needed", \.needed), ("free", \.free), ("rotations", \.rotations),
        ("failures", \.failures), ("last_dropped", \.lastDropped),
        ("last_failure", \.lastFailure),
    ]
    private static let flags: [(StaticString, any WritableKeyPath<Self, Bool> & Sendable)] = [
        ("due", \.isDue), ("rotating", \.isRotating), ("round_running", \.isRoundRunning),
        ("owes_compaction", \.owesCompaction),
    ]

    package func encode() -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        for (name, path) in Self.numbers { text.member(name, number: self[keyPath: path]) }
        for (name, path) in Self.flags { text.member(name, number: self[keyPath: path] ? 1 : 0) }
        text.endObject()
        return text.bytes
    }

    /// Reads what `encode` writes, by name.
    /// - Returns: nil when a member is missing.
    package init?(_ member: (String) -> Int?) {
        (generation, secondsLeft, dropped, kept, needed, free) = (0, 0, 0, 0, 0, 0)
        for (name, path) in Self.numbers {
            guard let number = member("\(name)") else { return nil }
            self[keyPath: path] = number
        }
        for (name, path) in Self.flags {
            guard let number = member("\(name)") else { return nil }
            self[keyPath: path] = number != 0
        }
    }
}

extension RotationFailure {
    /// On the wire; never 0.
    var number: Int {
        switch self {
        case .inWork: 1
        case .stopped: 2
        case .unavailable: 3
        case .keysUnwritable: 4
        }
    }

    /// What the operator is told.
    package static func message(number: Int) -> String {
        switch number {
        case 1: "a rotation is in work"
        case 2: "the service stopped before it was done; it is done after the next start"
        case 4: "the key file cannot be replaced; its directory must be writable by the service"
        default: "the store cannot be written now; see the log"
        }
    }

    package var message: String { Self.message(number: number) }

    /// In logs.
    var word: StaticString {
        switch self {
        case .inWork: "in-work"
        case .stopped: "stopped"
        case .unavailable: "unavailable"
        case .keysUnwritable: "keys-unwritable"
        }
    }
}
