private import CLinux
private import Glibc
import Reveille
import Synchronization
import WakeFeed
import WakeSystem

/// Events on their way to the app's callbacks, which are called one at a time: on a thread of the
/// library, by `reveille_dispatch`, or by a thread that waits in `reveille_synchronize`.
final class CallbackQueue: Sendable {
    enum Event: Sendable {
        case match(Match)
        case warning(Warning)
        case status(ClientStatus)
        /// `run` has ended by itself.
        case ended(ClientError?)

        fileprivate var isStatus: Bool { if case .status = self { true } else { false } }
    }

    /// The app's answer to a match or a warning, for which the client waits.
    private final class Answer: Sendable {
        private let isAcknowledged = Mutex(false)
        private let event = AsyncEvent()

        /// Counts also for a match whose callback then says something else.
        func acknowledge() { isAcknowledged.withLock { $0 = true } }

        func end() { event.signal() }

        /// Waits for the end of the callback, or of the task.
        /// - Returns: whether the match was acknowledged.
        func wait() async -> Bool {
            await event.wait()
            return isAcknowledged.withLock { $0 }
        }
    }

    private struct Entry: Sendable {
        let event: Event
        let answer: Answer?
    }

    private struct State {
        /// At most one of each kind: the client delivers one match or warning at a time, and only
        /// the newest status counts.
        var entries: [Entry] = []
        var isClosed = false
        /// The thread that calls back now; see `SystemThread.current`.
        var dispatcher: UInt?
        /// The match whose callback runs.
        var current: (id: MatchID, answer: Answer)?
        /// Notified of every new entry, by a number of their own.
        var listeners: [Int: WakeSystem.Semaphore] = [:]
        var nextListener = 0
        var descriptor: EventDescriptor?
    }

    /// A match that was not acknowledged.
    struct Unacknowledged: Error {}

    private let callbacks: AppCallbacks
    private let state = Mutex(State())
    /// Posted when the last callback before `close` has returned.
    private let idle = WakeSystem.Semaphore()

    init(_ callbacks: AppCallbacks) { self.callbacks = callbacks }

    // MARK: The client's side

    /// Returns when the app has acknowledged the match.
    func deliver(_ match: Match) async throws {
        let answer = Answer()
        post(Entry(event: .match(match), answer: answer))
        guard await answer.wait() else {
            withdraw(answer)
            throw Unacknowledged()
        }
    }

    /// Returns when the app has seen the warning.
    func deliver(_ warning: Warning) async {
        let answer = Answer()
        post(Entry(event: .warning(warning), answer: answer))
        _ = await answer.wait()
        withdraw(answer)
    }

    func publish(_ event: Event) { post(Entry(event: event, answer: nil)) }

    /// After `close` the answer never comes: the client's task is cancelled instead.
    private func post(_ entry: Entry) {
        state.withLock { state in
            guard !state.isClosed else { return }
            if entry.event.isStatus { state.entries.removeAll { $0.event.isStatus } }
            state.entries.append(entry)
            Self.notify(state)
        }
    }

    /// A task that was cancelled waits for no callback.
    private func withdraw(_ answer: Answer) {
        state.withLock { $0.entries.removeAll { $0.answer === answer } }
    }

    private static func notify(_ state: borrowing State) {
        for listener in state.listeners.values { listener.post() }
        state.descriptor?.signal()
    }

    // MARK: The app's side

    /// The calling thread is in a callback.
    var isInCallback: Bool { state.withLock { $0.dispatcher == SystemThread.current } }

    /// Acknowledges the match whose callback runs; false when it is another one.
    func acknowledgeCurrent(_ id: MatchID) -> Bool {
        state.withLock { state in
            guard let current = state.current, current.id == id else { return false }
            current.answer.acknowledge()
            return true
        }
    }

    /// Notifies `listener` of events until `removeListener`.
    func addListener(_ listener: WakeSystem.Semaphore) -> Int {
        state.withLock { state in
            state.nextListener += 1
            state.listeners[state.nextListener] = listener
            if !state.entries.isEmpty { listener.post() }
            return state.nextListener
        }
    }

    func removeListener(_ number: Int) { state.withLock { $0.listeners[number] = nil } }

    /// Makes `descriptor` readable whenever there are events; it is closed by `close`.
    func setDescriptor(_ descriptor: EventDescriptor) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.descriptor = descriptor
            if !state.entries.isEmpty { descriptor.signal() }
        }
    }

    var isPolled: Bool { state.withLock { $0.descriptor != nil } }

    /// Calls back for what waits now, unless another thread does; false once closed.
    func dispatch() -> Bool {
        let count = state.withLock { state -> Int? in
            guard !state.isClosed else { return nil }
            guard state.dispatcher == nil else { return 0 }
            state.dispatcher = SystemThread.current
            state.descriptor?.drain()
            // What is posted meanwhile is left to the next call: the app's loop gets its turn.
            return state.entries.count
        }
        guard let count else { return false }
        // Otherwise another thread is in it.
        guard isInCallback else { return true }
        for _ in 0..<count {
            guard let entry = next() else { break }
            call(entry)
        }
        return endDispatch()
    }

    private func next() -> Entry? {
        state.withLock { state in
            guard !state.isClosed, !state.entries.isEmpty else { return nil }
            let entry = state.entries.removeFirst()
            if case .match(let match) = entry.event, let answer = entry.answer {
                state.current = (match.id, answer)
            }
            return entry
        }
    }

    private func call(_ entry: Entry) {
        let isAcknowledged = callbacks.call(entry.event)
        if isAcknowledged { entry.answer?.acknowledge() }
        state.withLock { $0.current = nil }
        entry.answer?.end()
    }

    private func endDispatch() -> Bool {
        let isClosed = state.withLock { state in
            state.dispatcher = nil
            if !state.isClosed, !state.entries.isEmpty { Self.notify(state) }
            return state.isClosed
        }
        if isClosed { idle.post() }
        return !isClosed
    }

    /// From now on nothing is called back. Waits for a callback that runs on another thread.
    func close() {
        let isBusy = state.withLock { state in
            state.isClosed = true
            state.descriptor = nil
            for listener in state.listeners.values { listener.post() }
            return state.dispatcher != nil
        }
        if isBusy { idle.wait() }
    }
}

/// An eventfd that an app's loop watches (eventfd(2)).
final class EventDescriptor: Sendable {
    private let descriptor: Descriptor

    init() throws(SystemError) {
        descriptor = Descriptor(owning: try SystemError.check(linux_eventfd_create()))
    }

    var number: Int32 { descriptor.number }

    func signal() { linux_eventfd_signal(descriptor.number) }

    /// Not readable any more.
    func drain() {
        var count: UInt64 = 0
        _ = unsafe read(descriptor.number, &count, MemoryLayout<UInt64>.size)
    }
}
