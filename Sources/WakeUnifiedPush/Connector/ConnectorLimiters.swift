import WakeSystem

/// A limit for new endpoints: each is passed on once, a few at once, then the newest of a minute.
struct EndpointLimiter: Sendable {
    private var current: EndpointToken?
    private var waiting: EndpointToken?
    private var bucket = TokenBucket(
        tokens: 1, per: UnifiedPush.endpointSpacing, burst: UnifiedPush.endpointBurst,
        isFull: true)
    /// The time of the last `take`.
    private var last = Duration.zero

    /// - Parameter current: the endpoint that the service has.
    init(_ current: EndpointToken?) { self.current = current }

    var next: Duration? {
        guard waiting != nil else { return nil }
        return last + .nanoseconds(Int64(clamping: bucket.wait(now: last.wholeNanoseconds)))
    }

    mutating func offer(_ endpoint: EndpointToken) {
        waiting = endpoint == current ? nil : endpoint
    }

    /// The endpoint to register now, if any.
    mutating func take(at now: Duration) -> EndpointToken? {
        last = now
        guard let endpoint = waiting, bucket.take(1, now: now.wholeNanoseconds) == nil
        else { return nil }
        current = endpoint
        waiting = nil
        return endpoint
    }

    /// Returns an endpoint that was not registered: offered again in a minute, or a newer one.
    mutating func putBack(_ endpoint: EndpointToken) {
        guard current == endpoint else { return }
        current = nil
        waiting = waiting ?? endpoint
        _ = bucket.take(upTo: .max, now: last.wholeNanoseconds)
    }

    /// - Returns: the endpoint that the service has.
    mutating func forget() -> EndpointToken? {
        defer { (current, waiting) = (nil, nil) }
        return current
    }
}

/// A limit for wakes: one at once, and all of the next second as one more.
struct WakeLimiter: Sendable {
    private var isRequested = false
    private var last: Duration?

    var next: Duration? {
        guard isRequested else { return nil }
        return last.map { $0 + UnifiedPush.wakeSpacing } ?? .zero
    }

    mutating func request() { isRequested = true }

    mutating func take(at now: Duration) -> Bool {
        guard let next, next <= now else { return false }
        isRequested = false
        last = now
        return true
    }
}
