private import CLinux
private import Dispatch
private import Glibc

/// Readings of the system's clocks (clock_gettime(2)).
package enum SystemClock {
    /// Nanoseconds of CLOCK_MONOTONIC: never goes back, stands still while suspended.
    package static var monotonicNanoseconds: UInt64 {
        let time = read(CLOCK_MONOTONIC)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    package static var monotonicMilliseconds: UInt64 { monotonicNanoseconds / 1_000_000 }

    /// Nanoseconds of CLOCK_BOOTTIME: never goes back, also counts while the machine is suspended.
    package static var bootNanoseconds: UInt64 {
        let time = read(CLOCK_BOOTTIME)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Seconds of CLOCK_REALTIME since 1970: may be set at any time.
    package static var wallSeconds: Int { read(CLOCK_REALTIME).tv_sec }

    /// Returns when CLOCK_MONOTONIC shows these nanoseconds. Blocks, as `Semaphore.wait` does.
    package static func sleep(until nanoseconds: UInt64) {
        linux_sleep(nanoseconds)
    }

    /// Returns after a time, in which suspensions of the machine count unless it `pauses` then, or
    /// when the task is cancelled. `Task.sleep` needs queues that libdispatch watches each second.
    package static func sleep(for time: Duration, pauses: Bool = false) async {
        let event = AsyncEvent()
        let timer = DispatchSource.makeTimerSource(queue: timers)
        timer.setEventHandler { event.signal() }
        let now = pauses ? monotonicNanoseconds : bootNanoseconds
        // libdispatch: times of the clock that counts suspensions have the highest bit.
        let clock: UInt64 = pauses ? 0 : 1 << 63
        timer.schedule(
            deadline: DispatchTime(uptimeNanoseconds: clock | (now + time.wholeNanoseconds)))
        timer.activate()
        await event.wait()
        timer.cancel()
    }

    private static let timers = DispatchQueue(label: "reveille.timers")

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return time
    }
}

/// A moment of CLOCK_BOOTTIME, as `ContinuousClock.Instant` is. The compiler knows its size: what
/// holds one is not copied by way of metadata, which every row of a broadcast would pay for.
package struct UptimeInstant: Sendable, Comparable {
    private let nanoseconds: UInt64

    package static var now: UptimeInstant { .init(nanoseconds: SystemClock.bootNanoseconds) }

    package static func + (start: UptimeInstant, time: Duration) -> UptimeInstant {
        .init(nanoseconds: start.nanoseconds + time.wholeNanoseconds)
    }

    package static func - (end: UptimeInstant, start: UptimeInstant) -> Duration {
        .nanoseconds(Int64(end.nanoseconds) - Int64(start.nanoseconds))
    }

    package static func < (left: UptimeInstant, right: UptimeInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

/// Random bits of the kernel's generator (getrandom(2)).
package enum SystemRandom {
    package static func word() -> UInt64 {
        var value: UInt64 = 0
        let result = unsafe linux_random(&value, MemoryLayout<UInt64>.size)
        precondition(result == 0, "the kernel gives no random bytes")
        return value
    }

    /// Evenly distributed in [0, 1).
    package static func unit() -> Double {
        // 53 bits: every value is a Double below 1.
        Double(word() >> 11) / 9_007_199_254_740_992
    }
}

/// Time and randomness as values take them: injected, so that tests of waiting need not wait.
package struct TimeSource: Sendable {
    /// Milliseconds of a clock that never goes back.
    package let milliseconds: @Sendable () -> UInt64
    /// A number in [0, 1), for jitter.
    package let random: @Sendable () -> Double
    /// Seconds since 1970: for times that a peer gives as a date.
    package let wallSeconds: @Sendable () -> Int64

    package init(
        milliseconds: @escaping @Sendable () -> UInt64, random: @escaping @Sendable () -> Double,
        wallSeconds: @escaping @Sendable () -> Int64 = { Int64(SystemClock.wallSeconds) }
    ) {
        self.milliseconds = milliseconds
        self.random = random
        self.wallSeconds = wallSeconds
    }

    package static let system = TimeSource(
        milliseconds: { SystemClock.monotonicMilliseconds }, random: { SystemRandom.unit() })
}
