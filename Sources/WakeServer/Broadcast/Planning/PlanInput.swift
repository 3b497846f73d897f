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
    var gateways: [GatewayRate]
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
    var slowest: GatewayRate? {
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

/// How fast one gateway goes through the registrations.
package struct GatewayRate: Sendable, Equatable {
    let service: PushService
    /// Registrations a second, of all push services, in its last broadcast; nil before that.
    var last: Double?
    /// Pushes a minute the push service allows; nil: no such rule.
    let quotaPerMinute: Int?

    package init(_ service: PushService, last: Double? = nil, quotaPerMinute: Int? = nil) {
        precondition(quotaPerMinute ?? 1 > 0 && last ?? 1 > 0)
        self.service = service
        self.last = last
        self.quotaPerMinute = quotaPerMinute
    }

    /// Seconds for a number of registrations: by the last broadcast, before that by the quota,
    /// which is approached over a minute (`RampedTokenBucket`): that costs half of it, or all when
    /// there is not more to send.
    func seconds(for pushes: Double) -> Double {
        if let last { return pushes / last }
        guard let quotaPerMinute else { return 0 }
        let steady = pushes * 60 / Double(quotaPerMinute)
        return steady < 30 ? (120 * steady).squareRoot() : steady + 30
    }
}

/// The rates of the gateways' last broadcasts, kept in the ``BroadcastHistory``.
struct LearntRates: Equatable, Sendable {
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
}

/// The rate of one gateway in one run: the time in which it waited for the planned pace, not the
/// pace for it, does not count.
struct RateMeter {
    private var rows = 0
    private var time = Duration.zero

    /// With less a rate says nothing.
    private static let least = (rows: 500, time: Duration.seconds(2))

    mutating func add(rows: Int) { self.rows += rows }
    mutating func add(time: Duration) { self.time += time }

    /// Registrations a second; nil while too little is known.
    var rate: Double? {
        guard rows >= Self.least.rows, time >= Self.least.time else { return nil }
        return Double(rows) / (time / .seconds(1))
    }
}
