import Glibc
import Synchronization

/// A thread that waits in epoll and, between two waits, runs what other threads left for it: jobs
/// of the actors pinned to it, and plain calls, in the order they came.
///
/// `Reactor` and `StreamHub` name it as their executor: others reach them with `await`, the loop
/// itself enters them with `assumeIsolated`, which costs a comparison of thread numbers and no
/// lock. A loop runs once.
package final class EventLoop: SerialExecutor {
    private enum Errand {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private struct Inbox {
        var errands: [Errand] = []
        var isClosed = false
    }

    let poller: Poller
    private let inbox = Mutex(Inbox())
    /// The loop's thread while it runs, else 0.
    private let thread = Atomic<UInt>(0)
    private let hasStarted = Atomic<Bool>(false)

    package init() throws(HTTPServerError) {
        poller = try Poller()
    }

    /// Whether the caller is on the loop's thread.
    var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Whether the thread has ended; a job given to the loop from then on is never run.
    var hasEnded: Bool { inbox.withLock { $0.isClosed } }

    /// Has `call` run on the loop's thread, after everything given before; dropped when the loop
    /// has ended.
    func perform(_ call: @escaping @Sendable () -> Void) {
        leave(.call(call))
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        leave(.job(UnownedJob(job)))
    }

    private func leave(_ errand: Errand) {
        let wasEmpty = inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            inbox.errands.append(errand)
            return inbox.errands.count == 1
        }
        // One write per change from empty to not empty: the loop takes all errands at once.
        if wasEmpty { poller.wake() }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    package func checkIsolated() {
        precondition(isCurrent, "this state belongs to the event loop's thread")
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// Starts the thread: it runs waiting errands, then `turn`, again and again until `turn`
    /// returns false.
    func start(_ turn: @escaping @Sendable () -> Bool) {
        let wasStarted = hasStarted.exchange(true, ordering: .relaxed)
        precondition(!wasStarted, "an event loop runs once")
        startThread { [self] in
            thread.store(UInt(pthread_self()), ordering: .relaxed)
            repeat { runErrands(closing: false) } while turn()
            runErrands(closing: true)
            thread.store(0, ordering: .relaxed)
        }
    }

    private func runErrands(closing: Bool) {
        let waiting = inbox.withLock { inbox in
            let waiting = inbox.errands
            inbox.errands = []
            inbox.isClosed = closing
            return waiting
        }
        for errand in waiting {
            switch errand {
            case .job(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
            case .call(let call): call()
            }
        }
    }
}
