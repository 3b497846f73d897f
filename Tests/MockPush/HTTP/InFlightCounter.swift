/// A number of requests in flight, and its maximum.
final class InFlightCounter {
    fileprivate(set) var count = 0 { didSet { most = max(most, count) } }
    private(set) var most = 0
}

/// One request in flight, for as long as it is held.
final class InFlightLease {
    private let counter: InFlightCounter

    init(_ counter: InFlightCounter) {
        self.counter = counter
        counter.count += 1
    }

    deinit { counter.count -= 1 }
}
