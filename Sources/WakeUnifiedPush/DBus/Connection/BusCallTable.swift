/// The calls that wait for their replies, as a value.
struct BusCallTable<Waiter> {
    private struct Pending {
        let destination: [UInt8]?
        let deadline: UInt64
        let waiter: Waiter
    }

    static var bus: [UInt8] { Array("org.freedesktop.DBus".utf8) }

    private var pending: [UInt32: Pending] = [:]
    private var lastSerial: UInt32

    /// - Parameter firstSerial: a random one, so that no peer can guess a serial.
    init(firstSerial: UInt32) { lastSerial = firstSerial &- 1 }

    var isEmpty: Bool { pending.isEmpty }
    var count: Int { pending.count }

    /// A serial that no pending call has; never 0.
    mutating func nextSerial() -> UInt32 {
        repeat {
            lastSerial &+= 1
        } while lastSerial == 0 || pending[lastSerial] != nil
        return lastSerial
    }

    /// - Parameter deadline: milliseconds of the clock of `expired`.
    mutating func add(
        _ serial: UInt32, to destination: [UInt8]?, deadline: UInt64, _ waiter: Waiter
    ) {
        precondition(pending[serial] == nil, "a serial twice")
        pending[serial] = Pending(destination: destination, deadline: deadline, waiter: waiter)
    }

    /// Removes the waiter for a reply or error; nil without one, or from a sender not asked.
    mutating func remove(for reply: BusMessage) -> Waiter? {
        guard let serial = reply.replySerial, let call = pending[serial],
            let sender = reply.sender, Self.mayAnswer(sender, call.destination)
        else { return nil }
        return pending.removeValue(forKey: serial)?.waiter
    }

    /// A unique name answers for itself, the bus for everybody. The owner of a well-known name is
    /// known to the bus alone, which forwards replies only from connections that were asked.
    private static func mayAnswer(_ sender: [UInt8], _ destination: [UInt8]?) -> Bool {
        if sender == bus { return true }
        guard let destination, destination != bus else { return false }
        if destination.first == UInt8(ascii: ":") { return sender == destination }
        return BusGrammar.isUniqueName(sender)
    }

    mutating func remove(_ serial: UInt32) -> Waiter? {
        pending.removeValue(forKey: serial)?.waiter
    }

    mutating func expired(_ now: UInt64) -> [Waiter] {
        let over = pending.filter { $0.value.deadline <= now }
        for serial in over.keys { pending[serial] = nil }
        return over.values.map(\.waiter)
    }

    mutating func removeAll() -> [Waiter] {
        defer { pending = [:] }
        return pending.values.map(\.waiter)
    }

    var firstDeadline: UInt64? { pending.values.map(\.deadline).min() }
}
