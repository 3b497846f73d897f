import WakeSystem

/// The open streams of one connection, by id. The slot of an id is usually free when its turn comes
/// again; the few streams that are still open then move to a list of late ones.
struct StreamTable: Sendable {
    /// 24 bytes, so that the table of a thousand streams fits the nearest caches.
    struct Stream: Sendable {
        /// 0: this slot is free.
        fileprivate(set) var id: UInt32 = 0
        /// The lower half of the connection's milliseconds: enough to tell an age.
        private var opened: UInt32 = 0
        private var upper: UInt32 = 0
        private var lower: UInt32 = 0
        /// Seconds.
        var retryAfter: UInt32 = 0
        /// 0 until the answer's header has come.
        var status: UInt16 = 0
        /// Bytes of the answer's body so far; it is cut long before this overflows.
        var received: UInt16 = 0

        fileprivate init() {}

        fileprivate init(id: UInt32, reference: UInt64, openedAt: UInt64) {
            self.id = id
            opened = UInt32(truncatingIfNeeded: openedAt)
            upper = UInt32(truncatingIfNeeded: reference >> 32)
            lower = UInt32(truncatingIfNeeded: reference)
        }

        var reference: UInt64 { UInt64(upper) << 32 | UInt64(lower) }

        /// Milliseconds since the stream was opened.
        func age(now: UInt64) -> UInt64 { UInt64(UInt32(truncatingIfNeeded: now) &- opened) }
    }

    private var slots: [Stream]
    private let mask: UInt32
    private var late: [Stream] = []
    private(set) var count = 0

    init(capacity: Int) {
        var size = 16
        while size < capacity * 2 { size *= 2 }
        slots = [Stream](repeating: Stream(), count: size)
        mask = UInt32(size - 1)
    }

    /// The slot of an open stream; good until the next insertion or removal.
    func find(_ id: UInt32) -> Int? {
        let slot = Int(id >> 1 & mask)
        if slots[slot].id == id { return slot }
        guard !late.isEmpty, let index = late.firstIndex(where: { $0.id == id }) else { return nil }
        return slots.count + index
    }

    subscript(slot: Int) -> Stream {
        get { slot < slots.count ? slots[slot] : late[slot - slots.count] }
        set {
            if slot < slots.count {
                slots[slot] = newValue
            } else {
                late[slot - slots.count] = newValue
            }
        }
    }

    mutating func insert(_ id: UInt32, reference: UInt64, openedAt: UInt64) {
        let slot = Int(id >> 1 & mask)
        if slots[slot].id != 0 { late.append(slots[slot]) }
        slots[slot] = Stream(id: id, reference: reference, openedAt: openedAt)
        count += 1
    }

    mutating func remove(at slot: Int) {
        if slot < slots.count {
            slots[slot].id = 0
        } else {
            late.swapAt(slot - slots.count, late.count - 1)
            late.removeLast()
        }
        count -= 1
    }

    /// Removes a stream without any answer yet; returns its reference, nil when there is none.
    mutating func removeUnanswered(_ id: UInt32) -> UInt64? {
        let slot = Int(id >> 1 & mask)
        let stream = slots[slot]
        guard stream.id == id, stream.status == 0 else { return nil }
        slots[slot].id = 0
        count -= 1
        return stream.reference
    }

    func ids(where isWanted: (Stream) -> Bool) -> [UInt32] {
        (slots.filter { $0.id != 0 && isWanted($0) } + late.filter(isWanted)).map(\.id).sorted()
    }
}

/// The pushes in flight on one connection, their answers so far, and outcomes to be handed over.
struct PendingPushes: Sendable {
    enum Part {
        case more, whole
        /// The rest of the answer is not needed.
        case enough
        case malformed
    }

    /// The service has accepted the credential: Apple allows one stream until then.
    private(set) var provesCredential = false
    private var table: StreamTable
    /// Bodies of answers that are not complete.
    private var bodies: [UInt32: [UInt8]] = [:]
    private var outcomes = PushOutcomes()

    init(capacity: Int) {
        table = StreamTable(capacity: capacity)
    }

    var count: Int { table.count }

    mutating func insert(_ stream: UInt32, reference: UInt64, openedAt: UInt64) {
        table.insert(stream, reference: reference, openedAt: openedAt)
    }

    func streams(where isWanted: (StreamTable.Stream) -> Bool) -> [UInt32] {
        table.ids(where: isWanted)
    }

    mutating func takeOutcomes(into all: inout PushOutcomes) { outcomes.move(to: &all) }

    /// Records an answer that is `:status: 200` alone; false unless it is the whole answer.
    mutating func accept(_ stream: UInt32) -> Bool {
        guard let reference = table.removeUnanswered(stream) else { return false }
        outcomes.append(
            reference, .answered(status: 200, retryAfter: 0, body: .empty))
        return true
    }

    /// Records the header of an answer, or its trailers.
    mutating func receive(
        _ list: HeaderList, of stream: UInt32, ends: Bool, wallSeconds: Int64
    ) -> Part {
        guard let slot = table.find(stream) else { return .more }
        if table[slot].status != 0 {
            // Trailers end the answer (RFC 9113 §8.1).
            return ends ? complete(stream, at: slot) : .malformed
        }
        guard let header = ResponseHeader(list, wallSeconds: wallSeconds) else { return .malformed }
        // RFC 9110 §15.2: interim.
        if header.status < 200 { return ends ? .malformed : .more }
        table[slot].status = header.status
        table[slot].retryAfter = header.retryAfter
        return ends ? complete(stream, at: slot) : .more
    }

    mutating func receive(_ body: Span<UInt8>, of stream: UInt32, ends: Bool) -> Part {
        guard let slot = table.find(stream) else { return .more }
        guard table[slot].status != 0 else { return .malformed }
        let before = Int(table[slot].received)
        // Below 4 KiB and a frame of 16 KiB.
        table[slot].received += UInt16(body.count)
        if table[slot].status >= 300 {
            let kept = min(body.count, ConnectionLimits.bodyBytes - before)
            if kept > 0 { bodies[stream, default: []].append(span: body.extracting(0..<kept)) }
        }
        if ends { return complete(stream, at: slot) }
        // Within the stream's own window, which is never refilled.
        guard before + body.count >= ConnectionLimits.bodyBytes else { return .more }
        _ = complete(stream, at: slot)
        return .enough
    }

    mutating func giveUp(_ stream: UInt32, _ failure: AttemptFailure) {
        guard let slot = table.find(stream) else { return }
        outcomes.append(table[slot].reference, .retry(failure))
        remove(stream, at: slot)
    }

    /// Takes an answer whose body does not end as it is; false where there is none.
    mutating func cut(_ stream: UInt32) -> Bool {
        guard let slot = table.find(stream), table[slot].status != 0 else { return false }
        _ = complete(stream, at: slot)
        return true
    }

    private mutating func complete(_ stream: UInt32, at slot: Int) -> Part {
        let answer = table[slot]
        var body = PushBody.empty
        if !bodies.isEmpty, let bytes = bodies[stream] { body = outcomes.append(body: bytes) }
        outcomes.append(
            answer.reference,
            .answered(status: answer.status, retryAfter: answer.retryAfter, body: body))
        switch answer.status {
        // Either about our credential, or nothing about it.
        case 401, 403, 429, 500...: break
        default: provesCredential = true
        }
        remove(stream, at: slot)
        return .whole
    }

    private mutating func remove(_ stream: UInt32, at slot: Int) {
        if !bodies.isEmpty { bodies[stream] = nil }
        table.remove(at: slot)
    }
}
