package import WakeSystem

extension Backoff {
    /// Registration and erasure: 30 s to 6 h.
    static let registration = Backoff(base: .seconds(30), ceiling: .seconds(6 * 3600))
    /// Failed cycles: 30 s to 1 h; polling goes on beside.
    static let cycle = Backoff(base: .seconds(30), ceiling: .seconds(3600))
    /// Delivery of a match to the handler: 1 minute to 6 h.
    static let delivery = Backoff(base: .seconds(60), ceiling: .seconds(6 * 3600))
    /// The event stream: 5 s to 30 minutes; polling goes on beside.
    static let stream = Backoff(base: .seconds(5), ceiling: .seconds(1800))
    /// The UnifiedPush distributor: 30 s to 6 h; stream and polling go on beside.
    package static let distributor = Backoff(base: .seconds(30), ceiling: .seconds(6 * 3600))
    /// The session bus: 2 s to 30 minutes.
    package static let bus = Backoff(base: .seconds(2), ceiling: .seconds(1800))

    /// The longest wait that a server may ask for (`Retry-After`, RFC 9110 §10.2.3).
    static let longestFloor = Duration.seconds(6 * 3600)

    /// The wait after `failures` (1 or more), 1 s or more: an unlucky draw must not ask a dead
    /// server in a loop. `random` is in [0, 1); `floor`, a server's, is cut to `longestFloor`.
    package func delay(failures: Int, random: Double, floor: Duration = .zero) -> Duration {
        var backoff = Backoff(base: base, ceiling: ceiling, failures: failures - 1)
        let floor = max(.seconds(1), min(floor, Self.longestFloor))
        return backoff.fail(random: random, floor: floor)
    }
}

extension AsyncEvent {
    /// Returns when signalled, cancelled or after `duration`: nil has no end, zero or less no wait.
    package func wait(for duration: Duration?, in environment: ClientEnvironment) async {
        guard let duration else { return await wait() }
        guard duration > .zero else { return }
        await wait { await environment.sleep(duration) }
    }
}

extension Duration {
    /// Whole seconds, rounded up.
    package var wholeSeconds: Int64 {
        components.attoseconds > 0 ? components.seconds + 1 : components.seconds
    }
}
