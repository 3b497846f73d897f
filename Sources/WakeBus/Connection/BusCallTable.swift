/// Calls that wait for their replies, as a value: who asked whom, and until when.
struct BusCallTable<Waiter> {
    private struct Pending {
        let destination: [UInt8]?
        let deadline: UInt64
        let waiter: Waiter
    }

    static var bus: [UInt8] { Array("org.freedesktop.DBus".utf8) }

    private var pending: [UInt32: Pending] = [:]
    private var lastSerial: UInt32

    /// - Parameter firstSerial: a random one, so that nobody answers a call that it has not seen.
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

    /// - Parameter deadline: milliseconds of the clock that `expired` is told.
    mutating func add(
        _ serial: UInt32, to destination: [UInt8]?, deadline: UInt64, _ waiter: Waiter
    ) {
        precondition(pending[serial] == nil, "a serial twice")
        pending[serial] = Pending(destination: destination, deadline: deadline, waiter: waiter)
    }

    /// Who waits for this reply or error; nil for one that nobody waits for (any more), or that
    /// comes from somebody else than was asked.
    mutating func take(_ reply: BusMessage) -> Waiter? {
        guard let serial = reply.replySerial, let call = pending[serial],
            let sender = reply.sender, Self.mayAnswer(sender, call.destination)
        else { return nil }
        return pending.removeValue(forKey: serial)?.waiter
    }

    /// A unique name answers for itself, and the bus for anybody. Of a well-known name the bus
    /// alone knows the owner; it lets pass only replies of those who were asked.
    private static func mayAnswer(_ sender: [UInt8], _ destination: [UInt8]?) -> Bool {
        if sender == bus { return true }
        guard let destination, destination != bus else { return false }
        if destination.first == UInt8(ascii: ":") { return sender == destination }
        return BusGrammar.isUniqueName(sender)
    }

    mutating func remove(_ serial: UInt32) -> Waiter? {
        pending.removeValue(forKey: serial)?.waiter
    }

    /// Takes out those whose time is over.
    mutating func expired(_ now: UInt64) -> [Waiter] {
        let over = pending.filter { $0.value.deadline <= now }
        for serial in over.keys { pending[serial] = nil }
        return over.values.map(\.waiter)
    }

    mutating func removeAll() -> [Waiter] {
        defer { pending = [:] }
        return pending.values.map(\.waiter)
    }

    /// When the first of them is over.
    var firstDeadline: UInt64? { pending.values.map(\.deadline).min() }
}
