/// Full-jitter back-off: a random time below a bound that doubles with every failure
/// (aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter).
package struct Backoff: Sendable, Equatable {
    /// Bound of the first wait.
    let base: Duration
    /// Bound of every wait.
    let ceiling: Duration

    /// - Parameters:
    ///   - failures: in a row, at least 1.
    ///   - random: in [0, 1).
    ///   - floor: the least wait, as a server asked for; cut to six hours.
    package func delay(failures: Int, random: Double, floor: Duration = .zero) -> Duration {
        precondition(failures >= 1 && (0..<1).contains(random))
        // 2^20 seconds are twelve days: more doublings cannot matter.
        let doublings = min(failures - 1, 20)
        let bound = min(ceiling, base * (1 << doublings))
        // Never at once: a dead server must not be asked in a loop by an unlucky draw.
        let delay = max(.seconds(1), bound * random)
        return max(delay, min(floor, Self.longestFloor))
    }

    /// What a server may ask for at most (`Retry-After`, RFC 9110 §10.2.3), whatever our own
    /// ceiling is.
    static let longestFloor = Duration.seconds(6 * 3600)

    /// Registration and erasure: 30 s to 6 h.
    static let registration = Backoff(base: .seconds(30), ceiling: .seconds(6 * 3600))
    /// Failed cycles: polling goes on underneath.
    static let cycle = Backoff(base: .seconds(30), ceiling: .seconds(3600))
    /// Telling of a match: 1 minute to 6 h.
    static let telling = Backoff(base: .seconds(60), ceiling: .seconds(6 * 3600))
    /// The event stream; polling goes on underneath.
    static let stream = Backoff(base: .seconds(5), ceiling: .seconds(1800))
    /// The session bus and the distributor on it; stream and polling go on beside.
    package static let distributor = Backoff(base: .seconds(30), ceiling: .seconds(6 * 3600))
    package static let bus = Backoff(base: .seconds(2), ceiling: .seconds(1800))
}

extension Duration {
    /// Whole seconds, rounded up.
    var wholeSeconds: Int64 {
        components.attoseconds > 0 ? components.seconds + 1 : components.seconds
    }
}
