/// Lets a new endpoint through once, however often it is told, and a distributor that makes up new
/// ones without end through once a minute, with the newest.
struct EndpointGate: Sendable {
    private var current: EndpointToken?
    private var waiting: EndpointToken?
    private var credit = UnifiedPush.endpointBurst
    private var refilled: Duration?

    /// - Parameter current: what the service holds.
    init(_ current: EndpointToken?) {
        self.current = current
    }

    /// When `take` may have something.
    var next: Duration? {
        guard waiting != nil, let refilled else { return nil }
        return credit > 0 ? refilled : refilled + UnifiedPush.endpointSpacing
    }

    mutating func offer(_ endpoint: EndpointToken) {
        waiting = endpoint == current ? nil : endpoint
    }

    /// The endpoint that is to be registered now, if any.
    mutating func take(at now: Duration) -> EndpointToken? {
        refill(at: now)
        guard credit > 0, let endpoint = waiting else { return nil }
        credit -= 1
        current = endpoint
        waiting = nil
        return endpoint
    }

    /// It is not held after all: let through again in a minute, unless a newer one came.
    mutating func takeBack(_ endpoint: EndpointToken) {
        guard current == endpoint else { return }
        current = nil
        waiting = waiting ?? endpoint
        credit = 0
    }

    /// - Returns: what the service held.
    mutating func forget() -> EndpointToken? {
        defer { (current, waiting) = (nil, nil) }
        return current
    }

    private mutating func refill(at now: Duration) {
        guard let last = refilled, credit < UnifiedPush.endpointBurst else {
            refilled = now
            return
        }
        let count = Int((now - last) / UnifiedPush.endpointSpacing)
        guard count > 0 else { return }
        credit = min(credit + count, UnifiedPush.endpointBurst)
        refilled =
            credit == UnifiedPush.endpointBurst
            ? now : last + UnifiedPush.endpointSpacing * count
    }
}
