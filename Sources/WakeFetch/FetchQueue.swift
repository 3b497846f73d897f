/// Which requests may run now: so many in all and so many to one host, hosts taking turns, first
/// come first served within a host. A value without time or sockets.
///
/// Where there are more hosts than room, a host keeps its place for `streak` requests before the
/// next host gets it: every change of hosts costs a connection, and with it a TLS handshake.
///
/// libcurl has such bounds as well (CURLMOPT_MAX_TOTAL_CONNECTIONS(3) and others), but one queue
/// for all hosts: what waits for a host that hangs keeps back what waits for one that answers, is
/// looked at again with every connection that becomes free, and its time runs meanwhile
/// (curl issues 2369, 13227, 21396).
struct FetchQueue<Element> {
    /// Whom a request goes to: scheme, host and port as bytes.
    typealias Host = [UInt8]

    /// A request whose turn has come.
    struct Turn {
        let element: Element
        let host: Host
        /// Whether the others to its host wait until something is known of it.
        let isProbe: Bool
    }

    private struct Line {
        var waiting = FetchLine<UInt64>()
        var running = 0
        /// Whether the first of several requests goes alone, so that the others can share its
        /// connection if it turns out to carry several at once.
        var probes = false
        var isKnown = false
        /// Whether `turns` holds the host.
        var hasTurn = false
        /// Places it kept since its last turn.
        var kept = 0
    }

    /// Requests of one host after each other in the same place.
    static var streak: Int { 64 }

    private let total: Int
    private let perHost: Int
    private var elements: [UInt64: (element: Element, host: Host)] = [:]
    private var lines: [Host: Line] = [:]
    private var turns = FetchLine<Host>()
    /// Hosts that keep a place which one of their requests has just left.
    private var keepers: [Host] = []
    private(set) var running = 0

    init(total: Int, perHost: Int) {
        self.total = total
        self.perHost = perHost
    }

    var isEmpty: Bool { elements.isEmpty }

    /// `probes`: whether requests to this host may share a connection.
    mutating func add(_ element: Element, id: UInt64, to host: Host, probes: Bool) {
        elements[id] = (element, host)
        lines[host, default: Line()].waiting.append(id)
        if probes { lines[host]?.probes = true }
        giveTurn(host)
    }

    /// The next that may run, from now on counted as running.
    mutating func next() -> Turn? {
        while running < total, let host = nextHost() {
            guard hasRoom(host), let id = popWaiting(host),
                let (element, _) = elements.removeValue(forKey: id)
            else {
                forget(host)
                continue
            }
            running += 1
            lines[host]?.running += 1
            let isProbe = lines[host].map { $0.probes && !$0.isKnown } ?? false
            giveTurn(host)
            return Turn(element: element, host: host, isProbe: isProbe)
        }
        return nil
    }

    /// Takes back one that waits; nil if it does not.
    mutating func remove(_ id: UInt64) -> Element? {
        guard let (element, host) = elements.removeValue(forKey: id) else { return nil }
        let elements = elements
        lines[host]?.waiting.dropped { elements[$0] != nil }
        return element
    }

    /// Takes back all that wait.
    mutating func removeAll() -> [Element] {
        defer {
            elements = [:]
            turns = FetchLine()
            keepers = []
            lines = lines.filter { $0.value.running > 0 }
            for host in lines.keys {
                lines[host]?.waiting = FetchLine()
                lines[host]?.hasTurn = false
            }
        }
        return elements.values.map(\.element)
    }

    /// A request to `host` was answered: the others need not wait for it.
    mutating func answered(_ host: Host) {
        lines[host]?.isKnown = true
        giveTurn(host)
    }

    /// A request to `host` is over, well or not.
    mutating func ended(_ host: Host) {
        running -= 1
        lines[host]?.running -= 1
        lines[host]?.isKnown = true
        if let line = lines[host], !line.waiting.isEmpty, line.kept < Self.streak {
            lines[host]?.kept += 1
            keepers.append(host)
        }
        giveTurn(host)
        forget(host)
    }

    // MARK: Hosts

    private mutating func nextHost() -> Host? {
        if let host = keepers.popLast() { return host }
        guard let host = turns.popFirst() else { return nil }
        lines[host]?.hasTurn = false
        lines[host]?.kept = 0
        return host
    }

    private func hasRoom(_ host: Host) -> Bool {
        guard let line = lines[host] else { return false }
        return line.running < (line.probes && !line.isKnown ? 1 : perHost)
    }

    private mutating func giveTurn(_ host: Host) {
        guard let line = lines[host], !line.hasTurn, !line.waiting.isEmpty, hasRoom(host) else {
            return
        }
        lines[host]?.hasTurn = true
        turns.append(host)
    }

    private mutating func popWaiting(_ host: Host) -> UInt64? {
        while let id = lines[host]?.waiting.popFirst() {
            // Those that were taken back are still in line.
            if elements[id] != nil { return id }
        }
        return nil
    }

    private mutating func forget(_ host: Host) {
        guard let line = lines[host], line.running == 0, line.waiting.isEmpty else { return }
        lines[host] = nil
    }
}
