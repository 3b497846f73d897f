package import WakeModel

/// How many pushes a second one gateway can send.
package struct GatewayLimits: Sendable, Equatable {
    package let service: PushService
    package let connections: Int
    /// Requests on their way on one connection at once.
    package let streams: Int
    /// Milliseconds from a push to its answer.
    package let latencyMilliseconds: Int
    /// Pushes a minute the push service allows; nil: no such rule.
    package let quotaPerMinute: Int?
    /// Rows of this service, of 1,000. The store does not know: 1,000 unless an earlier round
    /// counted, as if all were of the slowest service.
    package let sharePerMille: Int

    package init(
        _ service: PushService, connections: Int, streams: Int = 1000,
        latencyMilliseconds: Int = 50, quotaPerMinute: Int? = nil, sharePerMille: Int = 1000
    ) {
        precondition(connections > 0 && streams > 0 && latencyMilliseconds > 0)
        precondition(quotaPerMinute.map { $0 > 0 } ?? true && (1...1000).contains(sharePerMille))
        self.service = service
        self.connections = connections
        self.streams = streams
        self.latencyMilliseconds = latencyMilliseconds
        self.quotaPerMinute = quotaPerMinute
        self.sharePerMille = sharePerMille
    }

    /// What the connections carry: requests on their way, divided by how long each is.
    var carried: Double {
        Double(connections) * Double(streams) * 1000 / Double(latencyMilliseconds)
    }

    private var quota: Double { quotaPerMinute.map { Double($0) / 60 } ?? .infinity }

    var isBoundByQuota: Bool { quota < carried }

    /// Pushes a second of all services together at which this one is at its limit.
    var broadcastRate: Double { min(carried, quota) * 1000 / Double(sharePerMille) }

    /// Seconds that so many pushes of all services together take. A quota is approached over a
    /// minute (`QuotaPace`): that costs half of it, or all when there is not more to send.
    func seconds(for pushes: Double) -> Double {
        let steady = pushes / broadcastRate
        guard isBoundByQuota else { return steady }
        return steady < 30 ? (120 * steady).squareRoot() : steady + 30
    }
}
