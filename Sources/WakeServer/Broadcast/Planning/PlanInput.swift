package import WakeModel
import WakePush
import WakeSystem

/// What a plan is made from.
package struct PlanInput: Equatable {
    /// Registrations of both generations, an estimate; 10^9 at most.
    var rows: Int
    /// Event streams open now: their clients are all woken in the first moment.
    var streams = 0
    /// Without any, only event streams are woken.
    var gateways: [GatewayThroughput]
    /// The topics of FCM, whose subscribers nobody can count.
    var topic: FCMTopic?
    var fetchesPerSecond = 0
    /// Seconds over which woken clients spread their fetches, by the head they have now.
    var spreadSeconds: Int
    /// Seconds between two heartbeats; 10^6 at most.
    var intervalSeconds = 7200

    var isWithinBounds: Bool {
        (0...1_000_000_000).contains(rows) && (0...1_000_000_000).contains(streams)
            && fetchesPerSecond >= 0 && spreadSeconds >= 0
            && (1...1_000_000).contains(intervalSeconds)
    }

    /// Clients spread by an hour at most, whatever a head says.
    static let longestSpread = 3600

    var spread: Int { min(spreadSeconds, Self.longestSpread) }
    var pushes: Int { gateways.isEmpty ? 0 : rows }
    var slowest: GatewayThroughput? {
        let pushes = Double(pushes)
        return gateways.max { $0.seconds(for: pushes) < $1.seconds(for: pushes) }
    }

    /// Fetches a second to plan for: the mean and four standard deviations, x + 4 √x, stay within
    /// the budget; half of a budget under 47.
    var usableFetches: Double {
        guard fetchesPerSecond > 0 else { return .infinity }
        let budget = Double(fetchesPerSecond)
        let root = (budget + 4).squareRoot() - 2
        return max(budget / 2, root * root)
    }

    static func budget(usable: Double) -> Int {
        let budget = min(2 * usable, usable + 4 * usable.squareRoot())
        return budget < 1e15 ? Int(budget.rounded(.up)) : Int.max
    }
}

/// The pushes a second that one gateway can carry.
package struct GatewayThroughput: Sendable, Equatable {
    let service: PushService
    let connections: Int
    /// Requests in flight on one connection.
    let streams: Int
    let latencyMilliseconds: Int
    /// Pushes a minute the push service allows; nil: no such rule.
    let quotaPerMinute: Int?
    /// Pushes a second on all connections in earlier runs, in place of streams and latency.
    var measured: Double?
    /// The part of all pushes that is of this service.
    var share = 1.0

    /// Unless told otherwise, a push service that is rather slow: a broadcast that ends before its
    /// time delays no other.
    package init(
        _ service: PushService, connections: Int, streams: Int = 100,
        latencyMilliseconds: Int = 150, quotaPerMinute: Int? = nil
    ) {
        precondition(connections > 0 && streams > 0 && latencyMilliseconds > 0)
        precondition(quotaPerMinute ?? 1 > 0)
        self.service = service
        self.connections = connections
        self.streams = streams
        self.latencyMilliseconds = latencyMilliseconds
        self.quotaPerMinute = quotaPerMinute
    }

    /// Pushes a second on all connections: requests in flight, divided by their latency.
    var carried: Double {
        measured ?? Double(connections) * Double(streams) * 1000 / Double(latencyMilliseconds)
    }

    private var quota: Double { quotaPerMinute.map { Double($0) / 60 } ?? .infinity }
    var isBoundByQuota: Bool { quota < carried }
    var rate: Double { min(carried, quota) }

    /// Seconds for its share of a number of pushes. A quota is approached over a minute
    /// (`RampedTokenBucket`): that costs half of it, or all when there is not more to send.
    func seconds(for pushes: Double) -> Double {
        let steady = pushes * share / rate
        guard isBoundByQuota else { return steady }
        return steady < 30 ? (120 * steady).squareRoot() : steady + 30
    }
}

/// The pushes a second that gateways have had in earlier runs, kept in the ``BroadcastHistory``.
struct LearntThroughput: Equatable, Sendable {
    /// 1 or more.
    private(set) var rates: [PushService: Int] = [:]

    init() {}

    /// - Returns: nil for numbers that no run has.
    init?(rates: [PushService: Int]) {
        guard rates.values.allSatisfy({ (1...1_000_000_000).contains($0) }) else { return nil }
        self.rates = rates
    }

    mutating func record(_ run: [PushService: Double]) {
        for (service, rate) in run { rates[service] = Int(max(1, min(1e9, rate)).rounded()) }
    }

    func applied(
        to throughput: GatewayThroughput, _ shares: RegistrationShares
    ) -> GatewayThroughput {
        var throughput = throughput
        throughput.measured = rates[throughput.service].map { Double($0) }
        throughput.share = shares[throughput.service]
        if throughput.service == .webPush, throughput.measured == nil {
            // As many hosts as there are requests for, or what the largest host alone takes.
            throughput.share = max(
                shares.largestHost, throughput.share / WebPushGateway.hostsAtOnce)
        }
        return throughput
    }
}

/// The rate of one gateway in one run, measured while it has more to do than it can do at once.
struct ThroughputMeter {
    private var pushes = 0
    private var time = Duration.zero
    private var busySince: UptimeInstant?

    /// With less a rate says nothing.
    private static let least = (pushes: 500, time: Duration.seconds(2))

    /// Counts completed pushes. `isBusy`: whether enough are left.
    mutating func update(completed: Int, isBusy: Bool, now: UptimeInstant) {
        if let since = busySince {
            pushes += completed
            time += now - since
        }
        busySince = isBusy ? now : nil
    }

    /// Pushes a second; nil while too little is known.
    var rate: Double? {
        guard pushes >= Self.least.pushes, time >= Self.least.time else { return nil }
        return Double(pushes) / (time / .seconds(1))
    }
}
