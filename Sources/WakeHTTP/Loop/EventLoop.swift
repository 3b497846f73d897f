import Synchronization
import WakeSystem

/// A thread that waits in epoll and, between two waits, runs posted work in order: plain calls, and
/// jobs of the actors pinned to it (`Reactor`, `StreamHub`). The loop itself enters those with
/// `assumeIsolated`, which compares thread numbers and takes no lock. A loop runs once.
package final class EventLoop: SerialExecutor {
    private enum Work: Sendable {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    let poller: Poller
    /// One wake-up per change from empty to not empty: the loop takes all work at once.
    private let mailbox: Mailbox<Work>
    /// The loop's thread while it runs, else 0.
    private let thread = Atomic<UInt>(0)
    private let hasStarted = Atomic<Bool>(false)

    package init() throws(HTTPServerError) {
        let poller = try mapError({ HTTPServerError.noEventLoop(errno: $0.number) }) {
            () throws(SystemError) in try Poller()
        }
        self.poller = poller
        mailbox = Mailbox { poller.wake() }
    }

    /// Whether the caller is on the loop's thread.
    var isCurrent: Bool { thread.load(ordering: .relaxed) == SystemThread.current }

    /// Whether the thread has ended; a job given to the loop from then on is never run.
    var hasEnded: Bool { mailbox.isClosed }

    /// Runs `call` on the loop's thread, after earlier work; drops it when the loop has ended.
    func perform(_ call: @escaping @Sendable () -> Void) { mailbox.post(.call(call)) }

    package func enqueue(_ job: consuming ExecutorJob) { mailbox.post(.job(UnownedJob(job))) }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    package func checkIsolated() {
        precondition(isCurrent, "this state belongs to the event loop's thread")
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// Starts the thread: it runs posted work, then `turn`, until that returns false.
    func start(_ turn: @escaping @Sendable () -> Bool) {
        let wasStarted = hasStarted.exchange(true, ordering: .relaxed)
        precondition(!wasStarted, "an event loop runs once")
        do throws(SystemError) {
            try SystemThread.start { [self] in
                thread.store(SystemThread.current, ordering: .relaxed)
                repeat { runWork() } while turn()
                mailbox.close()
                runWork()
                thread.store(0, ordering: .relaxed)
            }
        } catch {
            preconditionFailure("the system gives no thread")
        }
    }

    private func runWork() {
        for work in mailbox.take() {
            switch work {
            case .job(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
            case .call(let call): call()
            }
        }
    }
}

/// The loop's source of time: injected, so that tests of deadlines need not wait.
package struct LoopClock: Sendable {
    /// Nanoseconds of a clock that never goes back.
    let monotonic: @Sendable () -> UInt64
    /// Seconds since 1970, for `Date`.
    let wall: @Sendable () -> Int

    package init(
        monotonic: @escaping @Sendable () -> UInt64, wall: @escaping @Sendable () -> Int
    ) {
        self.monotonic = monotonic
        self.wall = wall
    }

    package static let system = LoopClock(
        monotonic: { SystemClock.monotonicNanoseconds }, wall: { SystemClock.wallSeconds })
}
