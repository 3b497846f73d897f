/// Addresses that could not be connected to a short while ago: the other addresses of a pin are
/// tried before them, so that one dead address of a host does not cost every request its share of
/// the connect time. A value; times are durations since any fixed moment.
struct FailedAddresses {
    static let remembered = Duration.seconds(60)
    static let maximum = 1024

    private var until: [IPAddress: Duration] = [:]

    var count: Int { until.count }

    mutating func note(_ address: IPAddress, at now: Duration) {
        if until.count >= Self.maximum {
            until = until.filter { $0.value > now }
            // Forgetting costs a few attempts, nothing else.
            if until.count >= Self.maximum { until = [:] }
        }
        until[address] = now + Self.remembered
    }

    mutating func forget(_ address: IPAddress) {
        until[address] = nil
    }

    /// The same addresses, those that failed last; otherwise in their order.
    func ordered(_ addresses: [IPAddress], at now: Duration) -> [IPAddress] {
        guard !until.isEmpty, addresses.count > 1 else { return addresses }
        func failed(_ address: IPAddress) -> Bool { until[address].map { $0 > now } ?? false }
        return addresses.filter { !failed($0) } + addresses.filter(failed)
    }
}
