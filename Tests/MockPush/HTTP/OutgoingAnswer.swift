import WakeSystem

/// The progress of an answer.
struct OutgoingAnswer {
    enum Step {
        case head(ends: Bool)
        case bytes(ArraySlice<UInt8>, ends: Bool)
        /// Nothing before then, microseconds.
        case wait(until: UInt64)
        case cut
        case done
    }

    let answer: HTTPAnswer
    private let lease: InFlightLease?
    private var due: UInt64
    private var isHeadSent = false
    private var part = 0
    private var offset = 0

    /// - Parameter now: microseconds, as everywhere.
    init(_ answer: HTTPAnswer, _ lease: InFlightLease?, latency: Int, now: UInt64) {
        self.answer = answer
        self.lease = lease
        let delay = UInt64(answer.delay + latency) * 1000
        // Together with others, four times a millisecond, and never too soon.
        due = delay == 0 ? now : (now + delay + 249) / 250 * 250
    }

    /// The time of the next step; nil while the client has to make room.
    func nextDue(room: Int) -> UInt64? {
        let isBlocked =
            isHeadSent && room <= 0 && part < answer.parts.count
            && offset < answer.parts[part].bytes.count
        return isBlocked ? nil : due
    }

    /// The next step. `room`: bytes of a body that may be sent.
    func step(now: UInt64, room: Int) -> Step {
        if due > now { return .wait(until: due) }
        if !isHeadSent { return .head(ends: !answer.hasBody) }
        if part < answer.parts.count {
            let bytes = answer.parts[part].bytes[offset...]
            if bytes.isEmpty {
                return .bytes([], ends: part + 1 == answer.parts.count && answer.end == .whole)
            }
            if room <= 0 { return .wait(until: .max) }
            let isLast = part + 1 == answer.parts.count && bytes.count <= room
            return .bytes(bytes.prefix(room), ends: isLast && answer.end == .whole)
        }
        return answer.end == .cut ? .cut : .done
    }

    mutating func sentHead(now: UInt64) {
        isHeadSent = true
        begin(now)
    }

    mutating func sent(_ count: Int, now: UInt64) {
        offset += count
        guard offset >= answer.parts[part].bytes.count else { return }
        offset = 0
        part += 1
        if part == answer.parts.count, answer.end == .endless { part -= 1 }
        begin(now)
    }

    private mutating func begin(_ now: UInt64) {
        guard part < answer.parts.count else { return }
        due = max(due, now) + UInt64(answer.parts[part].after) * 1000
    }
}
