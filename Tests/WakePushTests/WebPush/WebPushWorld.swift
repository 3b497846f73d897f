import TestSupport
import WakeFetch
import WakeModel

@testable import WakePush

/// Push services that are not there, in time that is not there: what a flow wants done is done
/// after the delays that the hosts have, and what it settles is written down once.
struct WebPushWorld {
    typealias Answer = (delay: UInt64, outcome: WebPushOutcome)

    private enum Event {
        case answer(WebPushFlight.Key, WebPushOutcome)
        case lookedUp(Int, Result<[IPAddress], ResolveError>)
    }

    var flow: WebPushDelivery
    /// What a host answers: its name, the wake-up's number, how often it was asked about that.
    var answer: (String, Int, Int) -> Answer = { _, _, _ in (20, .answered(201)) }
    /// What a look-up brings: its number for that host, from 1 on.
    var lookUp: (String, Int) -> (delay: UInt64, Result<[IPAddress], ResolveError>) = { _, _ in
        (5, .success([WebPushWorld.address]))
    }
    private(set) var now: UInt64 = 1000
    private(set) var settled: [Int: Delivery] = [:]
    private(set) var times: [Int: UInt64] = [:]
    private(set) var failure: GatewayFailure?
    private(set) var retried = 0
    /// Wake-ups that were given back, in order.
    private(set) var givenBack: [Int] = []
    /// Those of them that were not added again.
    private var waiting: Set<Int> = []
    private var nextTick: UInt64 = 0
    private(set) var sent = 0
    private(set) var mostInFlight = 0
    private(set) var mostAtHost = 0
    /// Requests by host.
    private(set) var asked: [String: Int] = [:]
    private(set) var lookUps: [String: Int] = [:]
    private var attempts: [Int: Int] = [:]
    private var atHost: [String: Int] = [:]
    private var hostOf: [WebPushFlight.Key: String] = [:]
    private var events: [(at: UInt64, event: Event)] = []
    private var generator: SplitMix64

    static let address = IPAddress(bytes: [9, 9, 9, 9])!

    init(
        _ policy: EndpointPolicy = .known(.any), limits: WebPushLimits = .init(),
        seed: UInt64 = 1
    ) {
        flow = WebPushDelivery(policy, limits)
        generator = SplitMix64(seed: seed)
    }

    /// A wake-up to `https://HOST/NUMBER`.
    static func wakeUp(_ number: Int, _ host: String) throws -> WakeUp {
        WakeUp(
            reference: number,
            token: try PushToken(
                service: .webPush, bytes: Array("https://\(host)/p/\(number)".utf8)))
    }

    /// The number in the path of an endpoint.
    private static func number(_ token: PushToken) -> Int {
        let path = String(decoding: token.bytes.copy(), as: UTF8.self).split(separator: "/").last
        return path.flatMap { Int($0) } ?? -1
    }

    mutating func add(_ wakeUps: [WakeUp]) {
        note(flow.add(wakeUps, now: now))
        pump()
    }

    /// Sends to its end what is there, at most so many unsettled at once, as a broadcast does: what
    /// was given back comes again when everything else is settled.
    mutating func run(_ wakeUps: [WakeUp], capacity: Int = .max, until end: UInt64 = 7_200_000) {
        var left = wakeUps[...]
        while failure == nil, now < end {
            let unsettled = wakeUps.count - left.count - settled.count - waiting.count
            let room = min(128, capacity - unsettled, left.count)
            if room > 0 {
                add(Array(left.prefix(room)))
                left = left.dropFirst(room)
                continue
            }
            if left.isEmpty { flow.flush(isFinal: true) }
            pump()
            if settled.count == wakeUps.count { return }
            if left.isEmpty, settled.count + waiting.count == wakeUps.count {
                left = wakeUps.filter { waiting.contains($0.reference) }[...]
                waiting = []
            } else {
                step()
            }
        }
    }

    /// Time goes on to what happens next, a tenth of a second at most.
    mutating func step() {
        if now >= nextTick {
            nextTick = now + 100
            note(flow.tick(now: now))
        }
        let tick = now + 100
        guard let first = events.indices.min(by: { events[$0].at < events[$1].at }),
            events[first].at <= tick
        else {
            now = tick
            return pump()
        }
        let (at, event) = events.remove(at: first)
        now = max(now, at)
        let jitter = Double.random(in: 0..<1, using: &generator)
        let moment = DeliveryMoment(now: now, jitter: jitter)
        switch event {
        case .answer(let number, let outcome):
            if let host = hostOf.removeValue(forKey: number) { atHost[host, default: 0] -= 1 }
            note(flow.receive(.ended(number, outcome), at: moment))
        case .lookedUp(let host, let result):
            note(flow.receive(.resolved(host: host, result), at: moment))
        }
        pump()
    }

    mutating func pump() {
        guard failure == nil else { return }
        flow.advance(now: now)
        while let action = flow.next(now: now) { perform(action) }
        mostInFlight = max(mostInFlight, flow.inFlight)
        do throws(GatewayFailure) {
            note(DeliveryStep(results: try flow.conclude()))
        } catch {
            failure = error
        }
    }

    private mutating func perform(_ action: WebPushDelivery.Action) {
        switch action {
        case .resolve(let place, let name):
            let host = String(decoding: name, as: UTF8.self)
            lookUps[host, default: 0] += 1
            let (delay, result) = lookUp(host, lookUps[host] ?? 0)
            events.append((now + delay, .lookedUp(place, result)))
        case .send(let flight):
            let host = String(decoding: flight.host, as: UTF8.self)
            let reference = Self.number(flight.token)
            sent += 1
            attempts[reference, default: 0] += 1
            asked[host, default: 0] += 1
            hostOf[flight.key] = host
            atHost[host, default: 0] += 1
            mostAtHost = max(mostAtHost, atHost[host] ?? 0)
            let (delay, outcome) = answer(host, reference, attempts[reference] ?? 0)
            events.append((now + delay, .answer(flight.key, outcome)))
        }
    }

    private mutating func note(_ step: DeliveryStep) {
        retried += step.retried
        givenBack += step.deferred
        waiting.formUnion(step.deferred)
        for wakeUp in step.results {
            precondition(settled[wakeUp.reference] == nil, "a wake-up was settled twice")
            settled[wakeUp.reference] = wakeUp.delivery
            times[wakeUp.reference] = now
        }
    }
}

extension WebPushOutcome {
    static func answered(_ status: Int) -> Self { .answered(status: status, retryAfter: nil) }
}

extension EndpointPolicy {
    static func known(
        _ rules: PushHostRules, networks: [IPNetwork] = [], fixed: [IPAddress]? = nil
    ) -> EndpointPolicy {
        EndpointPolicy(rules: rules, networks: networks, fixedAddresses: fixed)
    }
}

extension PushHostRules {
    static let any = PushHostRules(list: "any")!
}
