import Glibc

/// Where the loop reads time: injected, so that tests of deadlines need not wait.
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

    /// The system's clocks.
    package static let system = LoopClock(
        monotonic: {
            var time = timespec()
            unsafe clock_gettime(CLOCK_MONOTONIC, &time)
            return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        },
        wall: {
            var time = timespec()
            unsafe clock_gettime(CLOCK_REALTIME, &time)
            return time.tv_sec
        })
}
