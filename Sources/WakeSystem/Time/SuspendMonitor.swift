private import CLinux
private import Glibc
private import Synchronization

/// The rule of what a suspension of the machine looks like: CLOCK_BOOTTIME counts it, and
/// CLOCK_MONOTONIC does not (clock_gettime(2)). Times in nanoseconds.
package struct SuspendDetector: Sendable {
    /// Shorter differences come from reading one clock after the other.
    package static let least: UInt64 = 1_000_000_000

    private var suspended: UInt64

    package init(boot: UInt64, monotonic: UInt64) {
        suspended = Self.difference(boot, monotonic)
    }

    /// Whether the machine slept since the last call.
    package mutating func hasSlept(boot: UInt64, monotonic: UInt64) -> Bool {
        let total = Self.difference(boot, monotonic)
        defer { suspended = max(suspended, total) }
        return total >= suspended + Self.least
    }

    private static func difference(_ boot: UInt64, _ monotonic: UInt64) -> UInt64 {
        boot > monotonic ? boot - monotonic : 0
    }
}

/// A thread that waits for the end of each suspension of the machine: then the wall clock is set,
/// which ends the wait for a timer on it (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET).
package final class SuspendMonitor: Sendable {
    private let timer: Descriptor
    private let poller: Poller
    private let isClosed = Atomic(false)

    /// - Parameter onResume: called on the monitor's thread.
    package init(onResume: @escaping @Sendable () -> Void) throws(SystemError) {
        timer = Descriptor(owning: try SystemError.check(linux_clock_watch_create()))
        poller = try Poller()
        guard poller.add(timer.number, .readable, token: 0) else { throw SystemError(ENOMEM) }
        try SystemThread.start { [self] in run(onResume) }
    }

    /// Ends the thread.
    package func close() {
        isClosed.store(true, ordering: .relaxed)
        poller.wake()
    }

    private func run(_ onResume: () -> Void) {
        var detector = SuspendDetector(
            boot: SystemClock.bootNanoseconds, monotonic: SystemClock.monotonicNanoseconds)
        var events = [linux_event](repeating: linux_event(), count: 2)
        while !isClosed.load(ordering: .relaxed) {
            _ = poller.wait(into: &events, milliseconds: -1)
            // Also when somebody set the clock, which is no suspension.
            linux_clock_watch_again(timer.number)
            // In this order: a pause of the thread between the two looks like no suspension.
            let boot = SystemClock.bootNanoseconds
            let monotonic = SystemClock.monotonicNanoseconds
            if detector.hasSlept(boot: boot, monotonic: monotonic) { onResume() }
        }
    }
}
