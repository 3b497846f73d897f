import WakeSystem

/// The addresses of a host, connected to one after the other without waiting for the one before
/// (RFC 8305 §5): the first stream that opens wins, the others are closed. Used on one thread.
struct AddressRace {
    enum Progress {
        case pending
        case won(any ByteStream)
        /// No address is left; nil: another attempt may succeed.
        case lost(PushFailure?)
    }

    private struct Attempt {
        let stream: any ByteStream
        let number: Int
        /// Before its first event, a connecting socket looks like one without an error.
        var hasEvent = false
    }

    /// Milliseconds until the next address is tried beside the others (RFC 8305 §8).
    private static let pause: UInt64 = 250

    private var waiting: ArraySlice<SocketAddress>
    private var attempts: [Attempt] = []
    private var started = 0
    private var failure: PushFailure?
    private let deadline: UInt64
    /// When the next address is tried; nil when none is left.
    private(set) var nextStart: UInt64?

    /// - Parameters:
    ///   - addresses: at least one, in the order to try.
    ///   - deadline: the end of the race; times are milliseconds of a clock that never goes back.
    init(_ addresses: [SocketAddress], now: UInt64, deadline: UInt64) {
        waiting = addresses[...]
        nextStart = now
        self.deadline = deadline
    }

    /// Records an event of the attempt with this number.
    mutating func record(_ number: Int) {
        guard let index = attempts.firstIndex(where: { $0.number == number }) else { return }
        attempts[index].hasEvent = true
    }

    /// Goes on with every attempt that had an event, and starts those that are due.
    /// - Parameter connect: begins to connect to an address; its events come with the number.
    mutating func advance(
        now: UInt64, connect: (SocketAddress, _ number: Int) -> (any ByteStream)?
    ) -> Progress {
        for attempt in attempts where attempt.hasEvent {
            switch attempt.stream.open() {
            case .waits: markSeen(attempt.number)
            case .failed(let reason):
                failure = reason ?? failure
                drop(attempt.number)
                if !waiting.isEmpty { nextStart = now }
            case .open:
                attempts.removeAll { $0.number == attempt.number }
                close()
                return .won(attempt.stream)
            }
        }
        while let start = nextStart, now >= start, let address = waiting.popFirst() {
            let stream = connect(address, started)
            if let stream { attempts.append(Attempt(stream: stream, number: started)) }
            started += 1
            nextStart = waiting.isEmpty ? nil : stream == nil ? now : now + Self.pause
        }
        guard now < deadline, !attempts.isEmpty || nextStart != nil else {
            close()
            return .lost(failure)
        }
        return .pending
    }

    private mutating func markSeen(_ number: Int) {
        guard let index = attempts.firstIndex(where: { $0.number == number }) else { return }
        attempts[index].hasEvent = false
    }

    private mutating func drop(_ number: Int) {
        guard let index = attempts.firstIndex(where: { $0.number == number }) else { return }
        attempts.remove(at: index).stream.close()
    }

    /// Closes every stream that has not won.
    mutating func close() {
        for attempt in attempts { attempt.stream.close() }
        attempts = []
        waiting = []
        nextStart = nil
    }
}
