/// One attempt of a request at one address. A request without pin has a single attempt; a pinned
/// one has one per address until a connection succeeds. The last has the connect time that is left,
/// others a second at most: an address that leads nowhere, often of IPv6, costs no more.
struct FetchAttempt {
    /// nil: by the URL's name.
    let address: IPAddress?
    let connect: Duration
    let total: Duration?
    private let rest: ArraySlice<IPAddress>
    private let timeout: FetchTimeout
    private let began: Duration

    private static let early = Duration.seconds(1)

    /// The first attempt; addresses in the order to try them.
    init(_ timeout: FetchTimeout, addresses: [IPAddress], at now: Duration) {
        let tried = addresses.prefix(PinnedAddresses.maximumAddresses)
        self.init(timeout, tried, began: now, at: now)
    }

    /// The attempt after this one failed to connect; nil if no address or no time is left.
    func next(at now: Duration) -> FetchAttempt? {
        // libcurl takes 0 for its defaults.
        let least = now - began + .milliseconds(1)
        guard !rest.isEmpty, timeout.connect >= least, timeout.total ?? least >= least else {
            return nil
        }
        return FetchAttempt(timeout, rest, began: began, at: now)
    }

    private init(
        _ timeout: FetchTimeout, _ addresses: ArraySlice<IPAddress>, began: Duration,
        at now: Duration
    ) {
        self.timeout = timeout
        self.began = began
        address = addresses.first
        rest = addresses.dropFirst()
        let left = timeout.connect - (now - began)
        let share = rest.isEmpty ? left : min(Self.early, left / addresses.count)
        connect = max(.milliseconds(1), share)
        total = timeout.total.map { $0 - (now - began) }
    }
}

/// Addresses that recently refused a connection, to be tried last: a dead one shall not cost every
/// request its share of the connect time. Times are durations since any fixed moment.
struct FailedAddresses {
    static let remembered = Duration.seconds(60)
    static let maximum = 1024

    private var until: [IPAddress: Duration] = [:]

    var count: Int { until.count }

    mutating func insert(_ address: IPAddress, at now: Duration) {
        if until.count >= Self.maximum {
            until = until.filter { $0.value > now }
            // Forgetting costs a few attempts, nothing else.
            if until.count >= Self.maximum { until = [:] }
        }
        until[address] = now + Self.remembered
    }

    mutating func remove(_ address: IPAddress) { until[address] = nil }

    /// The same addresses, failed ones last; otherwise in their order.
    func ordered(_ addresses: [IPAddress], at now: Duration) -> [IPAddress] {
        guard !until.isEmpty, addresses.count > 1 else { return addresses }
        func failed(_ address: IPAddress) -> Bool { until[address].map { $0 > now } ?? false }
        return addresses.filter { !failed($0) } + addresses.filter(failed)
    }
}
