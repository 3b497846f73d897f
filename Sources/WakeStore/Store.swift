private import Synchronization
import WakeModel

/// The registrations on disk.
///
/// One thread owns the one connection. Callers post operations from any thread; the thread commits
/// whatever waits as one transaction with one flush and then answers all of it, so a batch forms by
/// itself while the one before is being flushed.
package final class Store: Sendable {
    package let configuration: StoreConfiguration
    package let counters: StoreCounters
    private let mailbox: Mailbox
    private let thread: WriterThread
    private let ending: Ending

    /// Opens an existing store: checks files, keys, marks, schema and settings, empties the log,
    /// and starts the writer. Blocks for some milliseconds; a refusal has changed nothing.
    package init(opening configuration: StoreConfiguration) throws(StoreOpenError) {
        let counters = StoreCounters()
        let mailbox = Mailbox()
        let ending = Ending()
        let opening = Opening()
        thread = try WriterThread {
            Self.hold(configuration, counters, mailbox, opening)
            ending.finish()
        }
        if let refusal = opening.wait() {
            thread.join()
            throw refusal
        }
        self.configuration = configuration
        self.counters = counters
        self.mailbox = mailbox
        self.ending = ending
    }

    deinit {
        mailbox.close()
        // A store that was closed has been joined.
        if ending.claim() { thread.detach() }
    }

    /// Any thread; returns at once. `answer` is called exactly once: on the writer's thread when
    /// the operation is durable, or right here when it is refused.
    package func submit(
        _ operation: StoreOperation, _ answer: @escaping @Sendable (StoreAnswer) -> Void
    ) {
        post(.operation(operation, answer: answer))
    }

    /// Waits for everything submitted, empties the log, closes the files. Later operations are
    /// answered `unavailable`. May be called more than once.
    package func close() async {
        mailbox.close()
        await ending.wait()
        if ending.claim() { thread.join() }
    }

    func post(_ request: Request) {
        guard let refusal = mailbox.post(request) else { return }
        if refusal == .overloaded { counters.overloads.add(1, ordering: .relaxed) }
        request.answer(refusal)
    }

    /// The thread's whole life: the lock outlives the connection.
    private static func hold(
        _ configuration: StoreConfiguration, _ counters: StoreCounters, _ mailbox: Mailbox,
        _ opening: Opening
    ) {
        do throws(StoreOpenError) {
            let lock = try StoreLock(configuration)
            let refusal = withExtendedLifetime(lock) {
                write(configuration, counters, mailbox, opening)
            }
            if let refusal { throw refusal }
        } catch {
            opening.report(error)
        }
    }

    /// - Returns: why it could not be opened; otherwise it is closed again.
    private static func write(
        _ configuration: StoreConfiguration, _ counters: StoreCounters, _ mailbox: Mailbox,
        _ opening: Opening
    ) -> StoreOpenError? {
        let writer: Writer
        do throws(StoreOpenError) {
            writer = try Writer(configuration, counters: counters)
        } catch {
            return error
        }
        opening.report(nil)
        writer.run(mailbox)
        return nil
    }
}

/// How the thread tells the opener how it went.
private final class Opening: Sendable {
    private let refusal = Mutex<StoreOpenError?>(nil)
    private let bell = Bell()

    func report(_ refusal: StoreOpenError?) {
        self.refusal.withLock { $0 = refusal }
        bell.ring()
    }

    func wait() -> StoreOpenError? {
        bell.wait()
        return refusal.withLock { $0 }
    }
}

/// The end of the thread, for whoever waits in `close`.
private final class Ending: Sendable {
    private struct State {
        var isFinished = false
        var isClaimed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func finish() {
        let waiting = state.withLock { state in
            state.isFinished = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.waiting.append(continuation) }
                return state.isFinished
            }
            if isFinished { continuation.resume() }
        }
    }

    /// True for the one who may join or detach the thread.
    func claim() -> Bool {
        state.withLock { state in
            defer { state.isClaimed = true }
            return !state.isClaimed
        }
    }
}
