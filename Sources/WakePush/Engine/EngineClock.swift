private import Glibc

/// Time and chance, injected so that tests of back-off need not wait.
package struct EngineClock: Sendable {
    /// Milliseconds of a clock that never goes back.
    let milliseconds: @Sendable () -> UInt64
    /// A number from 0 to 1, for jitter.
    let chance: @Sendable () -> Double
    /// Seconds since 1970: for delays that a service gives as a date.
    let wallSeconds: @Sendable () -> Int64

    package init(
        milliseconds: @escaping @Sendable () -> UInt64,
        chance: @escaping @Sendable () -> Double,
        wallSeconds: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }
    ) {
        self.milliseconds = milliseconds
        self.chance = chance
        self.wallSeconds = wallSeconds
    }

    package static let system = EngineClock(
        milliseconds: {
            var time = timespec()
            unsafe clock_gettime(CLOCK_MONOTONIC, &time)
            return UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000
        }, chance: { Double.random(in: 0...1) })
}
