import Synchronization
import WakeSystem

/// The state that callers and the connection's thread share. No caller waits under its lock.
final class BusSession: Sendable {
    typealias Waiter = CheckedContinuation<Result<BusMessage, BusError>, Never>

    private struct State {
        var calls: BusCallTable<Waiter>
        var output: [UInt8] = []
        /// Bytes that the thread has taken and not yet sent.
        var inFlight = 0
        var ending: BusError?
    }

    let received = BusMessageQueue()
    let poller: Poller
    /// The end of the authentication, or of the connection.
    private let opening = AsyncEvent()
    private let state: Mutex<State>

    init() throws(BusError) {
        poller = try mapError({ (error: SystemError) in BusError.system(error.number) }, Poller())
        let calls = BusCallTable<Waiter>(firstSerial: .random(in: 1...UInt32.max))
        state = Mutex(State(calls: calls))
    }

    /// Milliseconds of a clock that never goes back.
    var now: UInt64 { SystemClock.monotonicMilliseconds }

    // MARK: For callers

    func opened() async throws(BusError) {
        await opening.wait()
        if Task.isCancelled { end(.cancelled) }
        if let ending { throw ending }
    }

    func send(_ message: BusMessage) throws(BusError) {
        try state.withLock { state throws(BusError) in
            try Self.enqueue(message, serial: state.calls.nextSerial(), &state)
        }
        poller.wake()
    }

    /// Sends a call and waits for its reply, of kind `.reply` or `.error`.
    func call(_ message: BusMessage, timeout: Duration) async throws(BusError) -> BusMessage {
        let deadline = now + UInt64(max(0, min(timeout / .milliseconds(1), 1e15)))
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
        do throws(BusError) {
            try state.withLock { state throws(BusError) in
                guard state.calls.count < BusLimits.pendingCalls else { throw .overflow }
                try Self.enqueue(message, serial: serial, &state)
                state.calls.add(serial, to: message.destination, deadline: deadline, waiter)
            }
            poller.wake()
        } catch { waiter.resume(returning: .failure(error)) }
    }

    private static func enqueue(
        _ message: BusMessage, serial: UInt32, _ state: inout State
    ) throws(BusError) {
        if state.ending != nil { throw .closed }
        let bytes = try message.encoded(serial: serial)
        guard state.output.count + state.inFlight + bytes.count <= BusLimits.outputBytes
        else { throw .overflow }
        state.output += bytes
    }

    private func cancel(_ serial: UInt32) {
        let waiter = state.withLock { $0.calls.remove(serial) }
        waiter?.resume(returning: .failure(.cancelled))
    }

    /// Ends the connection, once: every waiter is resumed, and the thread returns.
    func end(_ reason: BusError) {
        let waiters = state.withLock { state in
            guard state.ending == nil else { return [Waiter]() }
            state.ending = reason
            return state.calls.removeAll()
        }
        for waiter in waiters { waiter.resume(returning: .failure(.closed)) }
        opening.signal()
        received.end()
        poller.wake()
    }

    var ending: BusError? { state.withLock { $0.ending } }

    // MARK: For the thread

    func open() { opening.signal() }

    /// Takes the bytes to send; those taken before are sent.
    func takeOutput() -> [UInt8] {
        state.withLock { state in
            state.inFlight = state.output.count
            defer { state.output = [] }
            return state.output
        }
    }

    /// Ends calls that are due; returns the milliseconds until the next one is.
    func expire() -> UInt64? {
        let now = now
        let (waiters, next) = state.withLock { state in
            (state.calls.expired(now), state.calls.firstDeadline)
        }
        for waiter in waiters { waiter.resume(returning: .failure(.timedOut)) }
        return next.map { $0 - min($0, now) }
    }

    /// Resumes the caller that waits for a reply; without one the reply is dropped.
    func complete(_ reply: BusMessage, _ result: Result<BusMessage, BusError>) {
        let waiter = state.withLock { $0.calls.remove(for: reply) }
        waiter?.resume(returning: result)
    }
}

/// A queue of received messages for one reader, bounded in count and bytes.
final class BusMessageQueue: Sendable {
    private struct State {
        var messages = Deque<(message: BusMessage, bytes: Int)>()
        var bytes = 0
        var isEnded = false
    }

    private let state = Mutex(State())
    private let event = AsyncEvent()

    /// Appends a message of about `bytes` of memory; false when it was dropped for lack of room.
    func append(_ message: BusMessage, bytes: Int) -> Bool {
        let hasRoom = state.withLock { state in
            if state.isEnded { return true }
            guard state.messages.count < BusLimits.waitingMessages,
                state.bytes + bytes <= BusLimits.waitingBytes
            else { return false }
            state.messages.append((message, bytes))
            state.bytes += bytes
            return true
        }
        event.signal()
        return hasRoom
    }

    /// Accepts nothing more; the messages in the queue can still be read.
    func end() {
        state.withLock { $0.isEnded = true }
        event.signal()
    }

    /// The next message; nil at the end, or when the reading task is cancelled.
    func next() async -> BusMessage? {
        while true {
            let answer: BusMessage?? = state.withLock { state in
                if let (message, bytes) = state.messages.popFirst() {
                    state.bytes -= bytes
                    return message
                }
                return state.isEnded || Task.isCancelled ? .some(nil) : nil
            }
            if let answer { return answer }
            await event.wait()
        }
    }
}
