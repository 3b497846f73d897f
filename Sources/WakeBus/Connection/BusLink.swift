import Synchronization

/// What the callers and the connection's thread share: calls that wait, bytes to be sent, and how
/// it ended. All of it under one lock that is never held while somebody waits.
final class BusLink: Sendable {
    typealias Waiter = CheckedContinuation<Result<BusMessage, BusError>, Never>

    private struct State {
        var calls: BusCallTable<Waiter>
        var output: [UInt8] = []
        /// Bytes that the thread took and has not yet got rid of.
        var inFlight = 0
        var ending: BusError?
        var opening: CheckedContinuation<BusError?, Never>?
        var isOpen = false
    }

    let inbox = BusInbox()
    let bell: BusBell
    private let state: Mutex<State>
    private let start = SuspendingClock.now

    init() throws(BusError) {
        bell = try BusBell()
        let calls = BusCallTable<Waiter>(firstSerial: .random(in: 1...UInt32.max))
        state = Mutex(State(calls: calls))
    }

    /// Milliseconds of a clock that never goes back.
    var now: UInt64 { Self.milliseconds(SuspendingClock.now - start) }

    static func milliseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let whole = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1000)
        return whole.overflow
            ? .max / 2 : whole.partialValue + UInt64(attoseconds) / 1_000_000_000_000_000
    }

    // MARK: for callers

    /// Waits until the thread says that the bus accepted us.
    func opened() async throws(BusError) {
        let failure = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: BusError?? = state.withLock { state in
                    if let ending = state.ending { return ending }
                    if state.isOpen { return .some(nil) }
                    state.opening = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            end(.cancelled)
        }
        if let failure { throw failure }
    }

    func send(_ message: BusMessage) throws(BusError) {
        let result = state.withLock { state in
            Self.enqueue(message, serial: nil, &state).map { _ in }
        }
        try result.get()
        bell.ring()
    }

    /// Sends a call and waits for its reply, of kind `.reply` or `.error`.
    func call(_ message: BusMessage, timeout: Duration) async throws(BusError) -> BusMessage {
        let deadline = now + min(Self.milliseconds(timeout), UInt64.max / 4)
        let serial = state.withLock { $0.calls.nextSerial() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                begin(message, serial, deadline, continuation)
                // The handler may have run before there was anything to cancel.
                if Task.isCancelled { cancel(serial) }
            }
        } onCancel: {
            cancel(serial)
        }
        return try result.get()
    }

    private func begin(
        _ message: BusMessage, _ serial: UInt32, _ deadline: UInt64, _ waiter: Waiter
    ) {
        let failure: BusError? = state.withLock { state in
            guard state.calls.count < BusLimits.pendingCalls else { return .overflow }
            switch Self.enqueue(message, serial: serial, &state) {
            case .failure(let error): return error
            case .success:
                state.calls.add(serial, to: message.destination, deadline: deadline, waiter)
                return nil
            }
        }
        if let failure { return waiter.resume(returning: .failure(failure)) }
        bell.ring()
    }

    private static func enqueue(
        _ message: BusMessage, serial: UInt32?, _ state: inout State
    ) -> Result<UInt32, BusError> {
        if state.ending != nil { return .failure(.closed) }
        let serial = serial ?? state.calls.nextSerial()
        do throws(BusError) {
            let bytes = try message.encoded(serial: serial)
            guard state.output.count + state.inFlight + bytes.count <= BusLimits.outputBytes else {
                return .failure(.overflow)
            }
            state.output += bytes
            return .success(serial)
        } catch {
            return .failure(error)
        }
    }

    private func cancel(_ serial: UInt32) {
        let waiter = state.withLock { $0.calls.remove(serial) }
        waiter?.resume(returning: .failure(.cancelled))
    }

    /// Ends the connection, once: everybody who waits is told, and the thread goes.
    func end(_ reason: BusError) {
        let (waiters, opening) = state.withLock { state in
            guard state.ending == nil else {
                return ([Waiter](), CheckedContinuation<BusError?, Never>?.none)
            }
            state.ending = reason
            defer { state.opening = nil }
            return (state.calls.removeAll(), state.opening)
        }
        for waiter in waiters { waiter.resume(returning: .failure(.closed)) }
        opening?.resume(returning: reason)
        inbox.end()
        bell.ring()
    }

    var ending: BusError? { state.withLock { $0.ending } }

    // MARK: for the thread

    func isOpen() {
        let opening = state.withLock { state in
            state.isOpen = true
            defer { state.opening = nil }
            return state.opening
        }
        opening?.resume(returning: nil)
    }

    /// What is to be sent now; what was taken before is gone.
    func takeOutput() -> [UInt8] {
        state.withLock { state in
            let bytes = state.output
            state.output = []
            state.inFlight = bytes.count
            return bytes
        }
    }

    /// Tells calls whose time is over, and says when the next one's is.
    func expire() -> UInt64? {
        let now = now
        let (waiters, next) = state.withLock { state in
            (state.calls.expired(now), state.calls.firstDeadline)
        }
        for waiter in waiters { waiter.resume(returning: .failure(.timedOut)) }
        return next.map { $0 - min($0, now) }
    }

    /// Hands a reply to who waits for it; one that nobody waits for is dropped.
    func answer(_ reply: BusMessage, _ result: Result<BusMessage, BusError>) {
        let waiter = state.withLock { $0.calls.take(reply) }
        waiter?.resume(returning: result)
    }
}
