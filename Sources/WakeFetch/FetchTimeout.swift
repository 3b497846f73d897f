/// How long a fetch may take.
package struct FetchTimeout: Sendable, Hashable {
    /// What counts as too slow once the connection stands. Time in which the sinks of the same
    /// purpose work does not count.
    package enum Pace: Sendable, Hashable {
        /// At least so many bytes a second on average over each window: a stall is noticed after
        /// one window at the earliest and two at the latest.
        case atLeast(bytesPerSecond: Int, over: Duration)
        /// Any byte within this time: for event streams, silent between their keep-alives.
        case idle(Duration)
    }

    /// Name resolution, TCP, proxy and TLS together.
    package var connect: Duration
    /// The whole fetch; nil for streams.
    package var total: Duration?
    package var pace: Pace

    package init(connect: Duration, total: Duration?, pace: Pace) {
        precondition(connect >= .milliseconds(1), "libcurl takes 0 for its own default")
        precondition(total ?? .seconds(1) >= .milliseconds(1), "libcurl takes 0 for never")
        self.connect = connect
        self.total = total
        self.pace = pace
    }

    /// For answers of known, modest size, over slow networks and Tor circuits as well.
    package static let standard = FetchTimeout(
        connect: .seconds(30), total: .seconds(600),
        pace: .atLeast(bytesPerSecond: 128, over: .seconds(30)))

    /// For event streams: no end, but a sign of life within `idle`.
    package static func stream(idle: Duration) -> FetchTimeout {
        FetchTimeout(connect: .seconds(30), total: nil, pace: .idle(idle))
    }
}
