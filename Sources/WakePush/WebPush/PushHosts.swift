import WakeFetch
import WakeModel
import WakeSystem

/// The hosts of a session, which send in turn: a host that hangs costs its own wake-ups only, and
/// those that have accepted nothing, or answer slowly, share half of all requests.
struct PushHosts {
    private let limits: WebPushLimits
    private let policy: EndpointPolicy
    private var hosts: [PushHost] = []
    private var indexOfName: [[UInt8]: Int] = [:]
    /// Of hosts that were forgotten.
    private var free: [Int] = []
    /// Hosts that may have something to send now.
    private var ready = Deque<Int>()
    /// Hosts that wait until fewer requests of unproven hosts are in flight; not in `ready`.
    private var unproven = Deque<Int>()
    private var unresolved = Deque<Int>()
    private var inFlight = 0
    private(set) var unprovenInFlight = 0
    private var nextAdvance: UInt64 = 0

    /// Milliseconds for which checked addresses are good.
    static let addressLife: UInt64 = 60_000
    /// Milliseconds between two passes over what waits for a time.
    private static let advanceInterval: UInt64 = 100

    init(_ policy: EndpointPolicy, _ limits: WebPushLimits) {
        self.policy = policy
        self.limits = limits
    }

    var indices: Range<Int> { hosts.indices }

    subscript(host: Int) -> PushHost {
        get { hosts[host] }
        _modify { yield &hosts[host] }
    }

    /// The index of a host (in lower case), which it keeps while it is remembered. When there are
    /// too many, idle ones are forgotten; nil when all are busy.
    mutating func index(of name: [UInt8]) -> Int? {
        if let index = indexOfName[name] { return index }
        if indexOfName.count >= limits.hosts { forgetIdle() }
        guard indexOfName.count < limits.hosts else { return nil }
        let host = PushHost(name: name, fixedAddresses: policy.fixedAddresses)
        if let index = free.popLast() {
            hosts[index] = host
            indexOfName[name] = index
            return index
        }
        hosts.append(host)
        indexOfName[name] = hosts.count - 1
        return hosts.count - 1
    }

    private mutating func forgetIdle() {
        for (name, index) in indexOfName where hosts[index].isIdle {
            indexOfName[name] = nil
            free.append(index)
        }
    }

    mutating func append(_ entry: RetryQueue.Entry, to host: Int) {
        hosts[host].queue.append(entry)
        hosts[host].hadSome = true
        list(host)
    }

    mutating func advance(now: UInt64) {
        guard now >= nextAdvance else { return }
        nextAdvance = now + Self.advanceInterval
        for host in hosts.indices where !hosts[host].queue.isEmpty {
            hosts[host].queue.advance(now: now)
            list(host)
        }
        let room = limits.unproven - unprovenInFlight
        for _ in 0..<max(0, room) { listUnproven() }
    }

    mutating func next(
        now: UInt64
    ) -> (host: Int, entry: RetryQueue.Entry, addresses: [IPAddress])? {
        while let host = ready.popFirst() {
            hosts[host].listing = .none
            guard hosts[host].queue.readyCount > 0, hosts[host].end == nil else { continue }
            guard hosts[host].room(now: now, limits.perHost) > 0 else { continue }
            if inFlight >= limits.total {
                hosts[host].listing = .ready
                ready.prepend(host)
                break
            }
            guard let addresses = addresses(of: host, now: now) else { continue }
            if !hosts[host].isProven, unprovenInFlight >= limits.unproven {
                hosts[host].listing = .unproven
                unproven.append(host)
                continue
            }
            guard let entry = hosts[host].queue.popFirst() else { continue }
            hosts[host].inFlight += 1
            inFlight += 1
            if !hosts[host].isProven { unprovenInFlight += 1 }
            list(host)
            return (host, entry, addresses)
        }
        return nil
    }

    /// Records the end of a request.
    mutating func complete(_ host: Int, milliseconds: UInt64, isAnswered: Bool) {
        hosts[host].inFlight -= 1
        inFlight -= 1
        if !hosts[host].isProven {
            unprovenInFlight -= 1
            listUnproven()
        }
        change(host) { [limits] in
            $0.isSlow = !isAnswered || milliseconds > limits.slow
            if isAnswered { $0.answer() }
        }
        list(host)
    }

    /// Records an accepted wake-up; returns those held as gone, which are believed now.
    mutating func accept(_ host: Int) -> [RetryQueue.Entry] {
        change(host) { $0.accept() }
    }

    /// Begins another pass.
    mutating func beginPass() {
        for host in hosts.indices { (hosts[host].isBehind, hosts[host].hadSome) = (false, false) }
    }

    /// Whether a host with wake-ups in this pass could take more.
    var isAnyIdle: Bool {
        hosts.contains {
            $0.hadSome && $0.end == nil && $0.queue.isEmpty && $0.inFlight < limits.perHost
        }
    }

    /// Changes a host, which may become proven or cease to be.
    private mutating func change<Result>(
        _ host: Int, _ body: (inout PushHost) -> Result
    ) -> Result {
        let wasProven = hosts[host].isProven
        let result = body(&hosts[host])
        switch (wasProven, hosts[host].isProven) {
        case (false, true):
            unprovenInFlight -= hosts[host].inFlight
            if hosts[host].listing == .unproven { hosts[host].listing = .none }
            list(host)
            for _ in 0...hosts[host].inFlight { listUnproven() }
        case (true, false): unprovenInFlight += hosts[host].inFlight
        case (false, false), (true, true): break
        }
        return result
    }

    private mutating func list(_ host: Int) {
        guard hosts[host].listing == .none, hosts[host].queue.readyCount > 0 else { return }
        hosts[host].listing = .ready
        ready.append(host)
    }

    /// Lets one more of the unproven hosts send.
    private mutating func listUnproven() {
        while let host = unproven.popFirst() {
            // One that has become proven meanwhile does not wait here any more.
            guard hosts[host].listing == .unproven else { continue }
            hosts[host].listing = .none
            list(host)
            if hosts[host].listing == .ready { return }
        }
    }

    /// Checked addresses of a host; nil while there are none.
    private mutating func addresses(of host: Int, now: UInt64) -> [IPAddress]? {
        switch hosts[host].resolution {
        case .known(let addresses, let until):
            if now >= until {
                // Good enough until the new ones are there.
                hosts[host].resolution = .renewing(addresses)
                unresolved.append(host)
            }
            return addresses
        case .renewing(let addresses): return addresses
        case .pending: return nil
        case .unknown:
            hosts[host].resolution = .pending
            unresolved.append(host)
            return nil
        }
    }

    mutating func nextLookUp() -> Int? {
        while let host = unresolved.popFirst() {
            if hosts[host].end == nil { return host }
            hosts[host].resolution = .unknown
        }
        return nil
    }

    /// Records the result of a look-up; returns the reason to give the host up, nil to go on.
    mutating func resolve(
        _ host: Int, _ result: Result<[IPAddress], ResolveError>, at moment: DeliveryMoment
    ) -> (cause: RetryCause, failure: GatewayFailure)? {
        defer { list(host) }
        hosts[host].resolution = .unknown
        switch result {
        case .success(let addresses) where policy.admits(addresses):
            hosts[host].resolution = .known(addresses, until: moment.now + Self.addressLife)
            return nil
        case .success: return (.endpointRefused, .misconfigured(.webPush(.addressesRefused)))
        case .failure(.notFound), .failure(.notAName): break
        case .failure(.temporarily), .failure(.timedOut), .failure(.cancelled):
            guard hosts[host].pause(at: moment) else { return nil }
        }
        return (.connectionFault, .unavailable(.unknownHost, .webPush))
    }
}

/// One host of push services in a session: its wake-ups, its addresses, and its behaviour.
struct PushHost {
    fileprivate enum Resolution {
        case unknown, pending
        /// Checked, and good until then.
        case known([IPAddress], until: UInt64)
        /// The same while the name is resolved again.
        case renewing([IPAddress])
    }

    /// Requests in flight to a host that has accepted nothing yet; each answer allows one more.
    static let firstAllowance = 4
    /// "Gone" that is believed of a host that has accepted nothing in this round: enough for a
    /// private server with a few devices, too few for one that says so to everything.
    static let unprovenGoneLimit = 3
    /// Rests of a host that throttles everything, until it is given up for the round.
    static let restLimit = 3
    /// Milliseconds. A host that has accepted nothing in this round is given up after the first
    /// two: with time-outs of ten seconds it costs its own wake-ups three quarters of a minute.
    private static let pauses: [UInt64] = [5000, 10_000, 20_000, 40_000, 60_000]
    private static let pausesBeforeSuccess = 2

    let name: [UInt8]
    fileprivate var resolution: Resolution
    fileprivate var queue = RetryQueue()
    fileprivate var inFlight = 0
    fileprivate enum Listing { case none, ready, unproven }

    /// The queue of hosts that it is in.
    fileprivate var listing = Listing.none
    /// "Gone" that is believed when the host accepts something.
    private(set) var held: [RetryQueue.Entry] = []
    /// Set once the host is given up for this round: the cause of the results of its wake-ups.
    private(set) var end: RetryCause?
    /// Opens after three requests in a row without an answer; any answer closes it.
    private var reachability = CircuitBreaker(.init(threshold: 3, pauses: pauses, probes: 1))
    private var service = ServiceBreaker()
    private(set) var hasAccepted = false
    /// Whether the last answer came late, or none.
    fileprivate var isSlow = false
    /// Whether it has more wake-ups than may wait, while the others have too few.
    fileprivate(set) var isBehind = false
    /// Whether it had a wake-up in this pass.
    fileprivate var hadSome = false
    private var unprovenGone = 0
    private var allowance = Self.firstAllowance
    private var rests = 0
    private var restEnd: UInt64 = 0

    fileprivate init(name: [UInt8], fixedAddresses: [IPAddress]?) {
        self.name = name
        resolution = fixedAddresses.map { .known($0, until: .max) } ?? .unknown
    }

    fileprivate var isProven: Bool { hasAccepted && !isSlow }
    var waitingCount: Int { queue.readyCount + queue.delayedCount }

    fileprivate var isIdle: Bool {
        switch resolution {
        case .pending, .renewing: false
        case .unknown, .known: queue.isEmpty && inFlight == 0 && held.isEmpty && listing == .none
        }
    }

    mutating func retry(_ entry: RetryQueue.Entry, after milliseconds: UInt64, now: UInt64) {
        queue.append(entry, after: milliseconds, now: now)
    }

    mutating func hold(_ entry: RetryQueue.Entry) { held.append(entry) }

    mutating func releaseHeld() -> [RetryQueue.Entry] {
        defer { held = [] }
        return held
    }

    /// Gives the host up for this round; returns the wake-ups that waited.
    mutating func close(_ cause: RetryCause) -> [RetryQueue.Entry] {
        end = cause
        return queue.removeAll()
    }

    /// Takes out what may not wait here.
    mutating func fallBehind(keeping count: Int) -> [RetryQueue.Entry] {
        isBehind = true
        return queue.removeUntried(but: count)
    }

    fileprivate func room(now: UInt64, _ perHost: Int) -> Int {
        guard now >= restEnd else { return 0 }
        var most = min(allowance, perHost)
        if let limit = reachability.allowance(now: now) { most = min(most, limit) }
        if let limit = service.allowance(now: now) { most = min(most, limit) }
        return most - inFlight
    }

    /// Milliseconds in which the host has not worked; nil for one that works.
    func failingFor(now: UInt64) -> UInt64? {
        [reachability, service.circuit].first { $0.pauseCount > 0 }?.failingFor(now: now)
    }

    fileprivate mutating func answer() {
        reachability.succeed()
        allowance = min(allowance + 1, 1 << 16)
    }

    fileprivate mutating func accept() -> [RetryQueue.Entry] {
        hasAccepted = true
        service.succeed()
        return releaseHeld()
    }

    /// Records that the host works, though it refused this wake-up.
    mutating func work() { service.succeed() }

    /// Lets nothing go to the host for some seconds; true when it is to be given up.
    mutating func rest(_ seconds: Int, now: UInt64) -> Bool {
        // What was in flight when the rest began is not another one.
        if now >= restEnd { rests += 1 }
        allowance = 1
        guard seconds <= RetryPolicy.longestRetryAfter else { return true }
        restEnd = max(restEnd, now + UInt64(max(1, seconds)) * 1000)
        return rests > Self.restLimit
    }

    /// Records an answer of "too much" or "broken"; true when going on is of no use.
    mutating func pushBack(at moment: DeliveryMoment) -> Bool {
        service.fail(at: moment)
        return service.isHopeless(now: moment.now)
    }

    /// True when a definite "gone" is believed now.
    mutating func believesGone() -> Bool {
        unprovenGone += 1
        return unprovenGone <= Self.unprovenGoneLimit
    }

    /// Records a request without an answer; true when the host is to be given up.
    mutating func fail(at moment: DeliveryMoment) -> Bool {
        allowance = max(1, allowance / 2)
        return reachability.fail(now: moment.now, random: moment.jitter) && isUnreachable
    }

    /// Pauses at once, as for a name that does not resolve; true when the host is to be given up.
    fileprivate mutating func pause(at moment: DeliveryMoment) -> Bool {
        reachability.open(now: moment.now, random: moment.jitter)
        return isUnreachable
    }

    private var isUnreachable: Bool {
        reachability.pauseCount > (hasAccepted ? Self.pauses.count : Self.pausesBeforeSuccess)
    }
}
