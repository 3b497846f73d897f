import WakeModel
import WakeSystem

/// Lets answers leave on a grid of time: how long one takes does not tell what was found for it.
///
/// The grid begins again with a batch before which no answer waits. A batch that takes less than a
/// tick, as nearly all do in calm times, is answered one tick after it began, whatever it did, and
/// so are the short ones that begin meanwhile: nobody learns their ends from a request behind them.
/// Large batches need no grid: beside the others, what one request found takes no time.
final class AnswerGrid {
    /// What is left to do for an answer when it may leave.
    typealias Release = @Sendable () -> Void

    private struct Ready: Sendable {
        let due: UInt64
        let releases: [Release]
    }

    /// Nanoseconds; 0 for no grid.
    private let tick: UInt64
    private let mailbox: Mailbox<Ready>
    private let end = Semaphore()
    private var start: UInt64 = 0
    private var lastDue: UInt64 = 0

    /// - Parameter tick: 0 for no grid, and no thread.
    init(tick: Duration) throws(StoreOpenError) {
        self.tick = UInt64(tick / .nanoseconds(1))
        let posted = Semaphore()
        mailbox = Mailbox { posted.post() }
        guard self.tick > 0 else { return }
        try mapError({ StoreOpenError.thread($0.number) }) { () throws(SystemError) in
            try SystemThread.start { [mailbox, end] in
                while let ready = mailbox.drain(limit: 1) {
                    guard let next = ready.first else {
                        posted.wait()
                        continue
                    }
                    SystemClock.sleep(until: next.due)
                    for release in next.releases { release() }
                }
                end.post()
            }
        }
    }

    deinit { mailbox.close() }

    /// - Parameter begun: when the batch began, in nanoseconds of the monotonic clock.
    func add(_ releases: [Release], begun: UInt64) {
        guard tick > 0 else { return releases.forEach { $0() } }
        if begun >= lastDue { start = begun }
        let ticks = (SystemClock.monotonicNanoseconds - start + tick - 1) / tick
        lastDue = start + max(1, ticks) * tick
        mailbox.post(Ready(due: lastDue, releases: releases))
    }

    /// Returns when the last answer has left.
    func close() {
        mailbox.close()
        if tick > 0 { end.wait() }
    }
}
