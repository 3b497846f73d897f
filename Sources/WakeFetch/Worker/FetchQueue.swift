import WakeSystem

/// An admission queue with a bound in total and per host: round robin among hosts, first come first
/// served within one. With more hosts than slots, a host keeps a slot for `streak` requests, as
/// each change costs a connection and a TLS handshake. libcurl's bounds
/// (CURLMOPT_MAX_TOTAL_CONNECTIONS(3) and others) have one queue for all: requests to a host that
/// hangs delay others, are examined for every free connection, and time out meanwhile (curl issues
/// 2369, 13227, 21396).
struct FetchQueue<Element> {
    /// The origin of a request: scheme, host and port as bytes.
    typealias Host = [UInt8]

    struct Admission {
        let element: Element
        let host: Host
        /// Whether the other requests to its host wait for its answer.
        let isProbe: Bool
    }

    private struct HostState {
        var waiting = Deque<UInt64>()
        var removed = 0
        var running = 0
        /// Whether the first request is sent alone, so that others can share its connection.
        var probes = false
        var hasAnswered = false
        /// Whether `hostQueue` holds the host.
        var isQueued = false
        /// Requests in the same slot since it was last in `hostQueue`.
        var consecutive = 0

        var isProbing: Bool { probes && !hasAnswered }
    }

    /// Requests of one host after each other in the same slot.
    static var streak: Int { 64 }

    private let total: Int
    private let perHost: Int
    private var elements: [UInt64: (element: Element, host: Host)] = [:]
    private var hosts: [Host: HostState] = [:]
    private var hostQueue = Deque<Host>()
    /// Hosts that keep the slot of a request that just ended.
    private var continuing: [Host] = []
    private(set) var running = 0

    init(total: Int, perHost: Int) {
        self.total = total
        self.perHost = perHost
    }

    var isEmpty: Bool { elements.isEmpty }

    /// - Parameter probes: whether requests to this host may share a connection.
    mutating func add(_ element: Element, id: UInt64, to host: Host, probes: Bool) {
        elements[id] = (element, host)
        hosts[host, default: HostState()].waiting.append(id)
        if probes { hosts[host]?.probes = true }
        enqueue(host)
    }

    /// Admits the next request, which counts as running until `ended`.
    mutating func next() -> Admission? {
        while running < total, let host = nextHost() {
            guard hasRoom(host), let id = popWaiting(host),
                let (element, _) = elements.removeValue(forKey: id)
            else {
                forget(host)
                continue
            }
            running += 1
            hosts[host]?.running += 1
            let isProbe = hosts[host]?.isProbing ?? false
            enqueue(host)
            return Admission(element: element, host: host, isProbe: isProbe)
        }
        return nil
    }

    /// Removes a waiting request; nil when it does not wait.
    mutating func remove(_ id: UInt64) -> Element? {
        guard let (element, host) = elements.removeValue(forKey: id) else { return nil }
        if var state = hosts[host] {
            state.removed += 1
            // Rebuilt when half of it is gone: constant cost per removal.
            if state.removed >= 64, state.removed * 2 >= state.waiting.count {
                state.waiting.filter { elements[$0] != nil }
                state.removed = 0
            }
            hosts[host] = state
        }
        return element
    }

    mutating func removeAll() -> [Element] {
        defer {
            elements = [:]
            hostQueue.removeAll()
            continuing = []
            hosts = hosts.filter { $0.value.running > 0 }
            for host in hosts.keys {
                hosts[host]?.waiting.removeAll()
                hosts[host]?.removed = 0
                hosts[host]?.isQueued = false
            }
        }
        return elements.values.map(\.element)
    }

    /// A request to `host` was answered: the others need not wait for it.
    mutating func answered(_ host: Host) {
        hosts[host]?.hasAnswered = true
        enqueue(host)
    }

    /// A request to `host` ended, with or without success.
    mutating func ended(_ host: Host) {
        running -= 1
        hosts[host]?.running -= 1
        hosts[host]?.hasAnswered = true
        if let state = hosts[host], !state.waiting.isEmpty, state.consecutive < Self.streak {
            hosts[host]?.consecutive += 1
            continuing.append(host)
        }
        enqueue(host)
        forget(host)
    }

    private mutating func nextHost() -> Host? {
        if let host = continuing.popLast() { return host }
        guard let host = hostQueue.popFirst() else { return nil }
        hosts[host]?.isQueued = false
        hosts[host]?.consecutive = 0
        return host
    }

    private func hasRoom(_ host: Host) -> Bool {
        guard let state = hosts[host] else { return false }
        return state.running < (state.isProbing ? 1 : perHost)
    }

    private mutating func enqueue(_ host: Host) {
        guard let state = hosts[host], !state.isQueued, !state.waiting.isEmpty, hasRoom(host)
        else { return }
        hosts[host]?.isQueued = true
        hostQueue.append(host)
    }

    private mutating func popWaiting(_ host: Host) -> UInt64? {
        while let id = hosts[host]?.waiting.popFirst() {
            // Removed requests stay in the deque until it is rebuilt.
            if elements[id] != nil { return id }
            hosts[host]?.removed -= 1
        }
        return nil
    }

    private mutating func forget(_ host: Host) {
        guard let state = hosts[host], state.running == 0, state.waiting.isEmpty else { return }
        hosts[host] = nil
    }
}
