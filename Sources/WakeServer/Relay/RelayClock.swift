import WakePush

/// The two clocks of a relay.
struct RelayClock: Sendable {
    /// Seconds since 1970: what signatures say of their time.
    let wall: @Sendable () -> Int
    /// Milliseconds of a clock that never goes back.
    let milliseconds: @Sendable () -> UInt64

    static let system: RelayClock = {
        let start = ContinuousClock.now
        return RelayClock(
            wall: { ClockReading.system().wall },
            milliseconds: { UInt64((ContinuousClock.now - start) / .milliseconds(1)) })
    }()
}
