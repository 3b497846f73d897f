/// One try of a request at one address. A request without pin has a single one, at whatever
/// address libcurl finds. A request with a pin has one for each address until one can be
/// connected to; the connect time is divided among those that are left.
struct FetchAttempt {
    /// nil: by the URL's name.
    let address: IPAddress?
    let connect: Duration
    let total: Duration?
    private let rest: [IPAddress]
    private let timeout: FetchTimeout
    /// When the first attempt began.
    private let began: Duration

    /// The first. `addresses` are those of the pin in the order to try them.
    init(_ timeout: FetchTimeout, addresses: [IPAddress], at now: Duration) {
        self.init(
            timeout, began: now, address: addresses.first,
            rest: Array(addresses.prefix(FetchPin.maximumAddresses).dropFirst()),
            connect: timeout.connect, total: timeout.total)
    }

    /// The one after this has failed to connect; nil if no address or no time is left.
    func next(at now: Duration) -> FetchAttempt? {
        let spent = now - began
        let connect = timeout.connect - spent
        let total = timeout.total.map { $0 - spent }
        // libcurl takes 0 for its defaults.
        let least = Duration.milliseconds(1)
        guard let address = rest.first, connect >= least, total ?? least >= least else {
            return nil
        }
        return FetchAttempt(
            timeout, began: began, address: address, rest: Array(rest.dropFirst()),
            connect: connect, total: total)
    }

    private init(
        _ timeout: FetchTimeout, began: Duration, address: IPAddress?, rest: [IPAddress],
        connect: Duration, total: Duration?
    ) {
        self.timeout = timeout
        self.began = began
        self.address = address
        self.rest = rest
        self.connect = max(.milliseconds(1), connect / (rest.count + 1))
        self.total = total
    }
}
