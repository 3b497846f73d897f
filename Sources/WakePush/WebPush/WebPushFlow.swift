import WakeFetch
import WakeModel

/// The Web Push gateway's part of a round, as a value: wake-ups, addresses and answers go in, what
/// to look up, what to send and what is settled come out. It reads no clock and owns no connection.
///
/// Every host has a queue of its own and takes turns with the others, so that a host that hangs
/// costs its own wake-ups only. Hosts that have accepted nothing in this round share half of all
/// requests; one that does not answer pauses and is given up, see ``HostCircuit``.
struct WebPushFlow {
    typealias Entry = PushHost.Entry

    /// What a round may take.
    struct Bounds {
        /// Requests on their way to one host.
        var perHost = 16
        /// And to all.
        var total = 256
        /// Wake-ups that are unsettled at most, as the caller bounds them. Those of hosts in
        /// trouble may be half of it.
        var window = 8192
        /// Names looked up at once.
        var lookups = 16
        /// "Gone" that is held for want of evidence; more is not believed.
        var held = 512
        /// Hosts remembered.
        var hosts = 16_384

        /// Requests on their way to hosts that have accepted nothing.
        var unproven: Int { max(1, total / 2) }
    }

    /// A wake-up that is to be sent.
    struct Flight {
        let number: UInt64
        let host: [UInt8]
        let addresses: [IPAddress]
        let wakeUp: WakeUp
    }

    enum Action {
        case lookUp(host: Int, name: [UInt8])
        case send(Flight)
    }

    /// What came of something.
    struct Step {
        var settled: [SettledWakeUp] = []
        /// To be tried again.
        var retried = 0
    }

    let bounds: Bounds
    let policy: EndpointPolicy
    var hosts = PushHostTable()
    /// Hosts that may have something to send now.
    var turns = HostList()
    /// Hosts whose addresses are to be looked up.
    var unknown = HostList()
    /// Hosts that wait until fewer requests of their kind are on their way.
    var unproven = HostList()
    var lookups = 0
    var unprovenInFlight = 0
    var heldCount = 0
    /// Not settled and not held.
    var pending = 0
    var hasAccepted = false
    /// What the gateway is at fault for if nothing at all is accepted.
    var suspicion: GatewayFailure?
    /// One wake-up that shows it and is not settled until that is known.
    var suspect: (entry: Entry, delivery: Delivery)?
    private var flights: [UInt64: (host: Int, entry: Entry)] = [:]
    private var lastFlight: UInt64 = 0
    var nextLook: UInt64 = 0
    private var isDraining = false
    private var isFinishing = false
    private var isLanding = false

    init(_ policy: EndpointPolicy, _ bounds: Bounds = Bounds()) {
        self.policy = policy
        self.bounds = bounds
    }

    /// What was added so far is to be settled before more comes.
    mutating func drain() { isDraining = true }

    /// Nothing more will be added.
    mutating func finish() {
        isDraining = true
        isFinishing = true
    }

    /// Lets nothing more leave.
    mutating func land() { isLanding = true }

    /// On their way.
    var inFlight: Int { flights.count }

    func isInFlight(_ number: UInt64) -> Bool { flights[number] != nil }

    /// - Parameter now: milliseconds of a clock that never goes back.
    mutating func add(_ wakeUps: [WakeUp], now: UInt64) -> Step {
        var step = Step()
        isDraining = false
        for wakeUp in wakeUps {
            pending += 1
            let entry = Entry(wakeUp: wakeUp)
            // Again, although it was looked at when it was registered: rules change.
            guard let name = policy.host(of: wakeUp.token) else {
                settle(entry, .retry(.endpointRefused), &step)
                continue
            }
            guard let host = hosts.place(of: name, limit: bounds.hosts, policy: policy) else {
                settle(entry, .retry(.throttled), &step)
                continue
            }
            if let end = hosts[host].end {
                settle(entry, .retry(end), &step)
                continue
            }
            hosts[host].add(entry)
            list(host)
        }
        relieve(now: now, &step)
        return step
    }

    /// Time passes.
    mutating func tick(now: UInt64) -> Step {
        var step = Step()
        relieve(now: now, &step)
        return step
    }

    /// The next thing to do, if any.
    mutating func next(now: UInt64) -> Action? {
        guard !isLanding else { return nil }
        advance(now: now)
        while let host = turns.takeFirst() {
            hosts[host].isListed = false
            guard hosts[host].readyCount > 0, hosts[host].end == nil else { continue }
            guard hosts[host].room(now: now, perHost: bounds.perHost) > 0 else { continue }
            if flights.count >= bounds.total {
                listFirst(host)
                break
            }
            guard let addresses = addresses(of: host, now: now) else { continue }
            if !hosts[host].hasAccepted, unprovenInFlight >= bounds.unproven {
                hosts[host].isListed = true
                unproven.append(host)
                continue
            }
            return .send(launch(host, addresses))
        }
        return nextLookUp()
    }

    private mutating func launch(_ host: Int, _ addresses: [IPAddress]) -> Flight {
        let entry = hosts[host].takeFirst()
        lastFlight += 1
        flights[lastFlight] = (host, entry)
        hosts[host].inFlight += 1
        if !hosts[host].hasAccepted { unprovenInFlight += 1 }
        list(host)
        return Flight(
            number: lastFlight, host: hosts[host].name, addresses: addresses,
            wakeUp: entry.wakeUp)
    }

    /// A wake-up comes back.
    mutating func land(_ number: UInt64) -> (host: Int, entry: Entry) {
        guard let flight = flights.removeValue(forKey: number) else {
            preconditionFailure("an answer to what is not on its way")
        }
        hosts[flight.host].inFlight -= 1
        if !hosts[flight.host].hasAccepted {
            unprovenInFlight -= 1
            letUnprovenOn()
        }
        list(flight.host)
        return flight
    }

    /// What is held for want of evidence once nothing else is left.
    /// - Throws: at the end, when nothing in the whole round was accepted and something shows why.
    mutating func conclude() throws(GatewayFailure) -> [SettledWakeUp] {
        guard isDraining, pending == 0 else { return [] }
        if isFinishing, !hasAccepted, let suspicion { throw suspicion }
        var step = Step()
        for host in hosts.indices where !hosts[host].held.isEmpty { disbelieve(host, &step) }
        clearSuspect(&step)
        return step.settled
    }
}
