private import Synchronization
package import WakeModel
import WakeSystem

/// The registrations on disk. One thread owns the one connection: it commits what callers posted as
/// one transaction with one flush and then answers all of it, while the next batch forms.
package final class Store: Sendable {
    package let configuration: StoreConfiguration
    package let counters = StoreCounters()
    private let mailbox: Mailbox<WriterMessage>
    private let end = End()

    /// Opens an existing store: checks files, keys, schema and settings, empties the log, starts
    /// the writer. Blocks for some milliseconds; a refusal has changed nothing.
    package init(opening configuration: StoreConfiguration) throws(StoreOpenError) {
        let posted = Semaphore()
        mailbox = Mailbox(capacity: Limits.queuedOperations) { posted.post() }
        let configuration = configuration.namingKeyFileItself
        self.configuration = configuration
        let opening = Opening()
        let thread = WriterThread(
            configuration: configuration, counters: counters, mailbox: mailbox, posted: posted,
            opening: opening)
        try mapError({ StoreOpenError.thread($0.number) }) { () throws(SystemError) in
            try SystemThread.start { [end] in
                thread.run()
                end.reach()
            }
        }
        if let refusal = opening.wait() { throw refusal }
    }

    deinit { mailbox.close() }

    /// Never blocks. `prepare` is called once, on the writer's thread when durable, here if
    /// refused; what it returns is called when the answer may leave, so that no work on it shows.
    package func perform(
        _ operation: StoreOperation,
        preparing prepare: @escaping @Sendable (StoreAnswer) -> @Sendable () -> Void
    ) { post(.operation(operation, prepare: prepare)) }

    /// The same for an answer that is the same work whatever it says.
    package func submit(
        _ operation: StoreOperation, _ answer: @escaping @Sendable (StoreAnswer) -> Void
    ) { perform(operation, preparing: { result in { answer(result) } }) }

    /// Returns true once the writer has come to the question, so that it does not hang; false at
    /// once when its queue is full or closed.
    package func isAnswering() async -> Bool {
        await withCheckedContinuation { waiter in
            let question = WriterMessage.survey { _ in waiter.resume(returning: true) }
            if mailbox.post(question) != .posted { waiter.resume(returning: false) }
        }
    }

    /// Completes everything submitted, then closes; later operations get `unavailable`. Repeatable.
    package func close() async {
        mailbox.close()
        await end.wait()
    }

    private func post(_ message: WriterMessage) {
        switch mailbox.post(message) {
        case .posted: break
        case .full:
            counters.overloads.add()
            message.answer(.overloaded)
        case .closed: message.answer(.unavailable)
        }
    }

    // MARK: Broadcasts

    /// Rows of ranges of ids, one range after the other, opened by the caller, without those that
    /// do not open; nil when the files cannot be read or the queue is full.
    /// - Parameters:
    ///   - ranges: one or more.
    ///   - limit: rows, 1 or more.
    ///   - memory: of the walk that the page belongs to.
    package func page(
        of generation: Generation, in ranges: [IDRange], limit: Int = Limits.pageRows,
        memory: PageMemory = PageMemory()
    ) async -> StorePage? {
        var page: RawPage? = await withCheckedContinuation { continuation in
            post(
                .page(generation, ranges, limit: limit, memory: memory) {
                    continuation.resume(returning: $0)
                })
        }
        guard let rows = page?.open(), let ranges = page?.ranges else { return nil }
        page?.release(to: memory)
        return StorePage(rows: rows, ranges: ranges, last: page?.last)
    }

    /// The rows after an id in the order of their ids.
    /// - Parameter id: the last of the page before; empty for the first page.
    package func page(
        of generation: Generation, after id: [UInt8], limit: Int = Limits.pageRows
    ) async -> StorePage? {
        await page(of: generation, in: [.all(after: id)], limit: limit)
    }

    /// Forgets registrations whose push tokens are gone, unless renewed or deleted since they were
    /// read. What cannot be done now stays for the next broadcast.
    package func removeIfUnchanged(_ rows: [(row: RowIdentity, generation: Generation)]) async {
        // Several transactions, so that operations of clients come in between.
        for start in stride(from: 0, to: rows.count, by: Limits.batchOperations) {
            let part = rows[start..<min(start + Limits.batchOperations, rows.count)]
            await withCheckedContinuation { continuation in
                let countdown = Countdown(part.count) { continuation.resume() }
                for (row, generation) in part {
                    post(
                        .removal(generation, row) { _ in countdown.decrement() })
                }
            }
        }
    }

    /// Registrations of both generations, from the pages of their files: about five rows each.
    package var estimatedRows: Int { counters.pages.now * Limits.rowsPerPage }
    /// Bytes by which the current file grows when all registrations of the previous one are
    /// renewed, which keeps its size: in a random order they take 1.3 times as much.
    package var renewalBytes: Int {
        counters.previousPages.load(ordering: .relaxed) * Limits.pageBytes * 4 / 3
    }
    /// Number of the current generation, counted from 1.
    package var generationNumber: UInt64 { counters.generation.load(ordering: .relaxed) }

    /// On a full disk, gives room of the store's reserve to a file beside the database.
    /// - Returns: whether there is more room now.
    package func giveRoom(_ bytes: Int) async -> Bool {
        await withCheckedContinuation { waiter in
            post(.room(bytes: bytes) { waiter.resume(returning: $0) })
        }
    }

    // MARK: Rotation

    /// Drops the previous generation, makes the current one previous, begins a new one.
    package func rotate() async -> RotationOutcome {
        await withCheckedContinuation { waiter in rotate { waiter.resume(returning: $0) } }
    }

    /// The same for callers without a task of their own; answers on the writer's thread.
    package func rotate(_ answer: @escaping @Sendable (RotationOutcome) -> Void) {
        post(.rotation(answer: answer))
    }

    /// Estimates what is stored, and sets the counters; nil when the files cannot be read.
    package func survey() async -> StoreSurvey? {
        await withCheckedContinuation { waiter in survey { waiter.resume(returning: $0) } }
    }

    /// The same for callers without a task of their own; answers on the writer's thread.
    package func survey(_ answer: @escaping @Sendable (StoreSurvey?) -> Void) {
        post(.survey(answer: answer))
    }
}

/// The whole life of the writer's thread.
private struct WriterThread: Sendable {
    let configuration: StoreConfiguration
    let counters: StoreCounters
    let mailbox: Mailbox<WriterMessage>
    let posted: Semaphore
    let opening: Opening

    /// Opens the store, serves it until its end, and closes it: the lock outlives the connection.
    func run() {
        do throws(StoreOpenError) {
            let lock = try StoreLock(configuration)
            try withExtendedLifetime(lock) { () throws(StoreOpenError) in
                let writer = try Writer(configuration, counters: counters)
                opening.report(nil)
                writer.run(mailbox, posted: posted)
            }
        } catch { opening.report(error) }
    }
}

private final class Opening: Sendable {
    private let refusal = Mutex<StoreOpenError?>(nil)
    private let reported = Semaphore()

    func report(_ refusal: StoreOpenError?) {
        self.refusal.withLock { $0 = refusal }
        reported.post()
    }

    func wait() -> StoreOpenError? {
        reported.wait()
        return refusal.withLock { $0 }
    }
}

/// The end of the thread, which any number of tasks wait for.
private final class End: Sendable {
    private struct State {
        var isReached = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func reach() {
        let waiting = state.withLock { state in
            state.isReached = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if !state.isReached { state.waiting.append(continuation) }
                return state.isReached
            }
            if isReached { continuation.resume() }
        }
    }
}

/// Calls back when a count reaches zero.
private final class Countdown: Sendable {
    private let count: Atomic<Int>
    private let done: @Sendable () -> Void

    init(_ count: Int, _ done: @escaping @Sendable () -> Void) {
        self.count = Atomic(count)
        self.done = done
    }

    func decrement() {
        if count.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done() }
    }
}
