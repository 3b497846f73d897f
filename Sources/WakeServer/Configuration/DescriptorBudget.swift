import Glibc
import WakeHTTP
import WakeModel
import WakePush

/// The descriptors (sockets and files) that the process may have, shared out: strangers cannot take
/// those of the operator, of the store and of pushes.
package struct DescriptorBudget: Sendable, Equatable {
    /// Of public connections, and of event streams among them: a quarter is left to requests.
    package let connections: Int
    package let streams: Int
    /// All of them, and what the process may have (RLIMIT_NOFILE, the hard limit).
    package let needed: Int
    package let limit: Int
    /// Those that public connections cannot take.
    let reserve: Int
    /// Whether `connections` was not set and is less than usual.
    package let isCut: Bool

    /// Connections of the admin listener.
    static let adminConnections = 32
    static let metricsConnections = 8
    /// Of a service without a setting: twice the event streams it has by default.
    private static let usualConnections = 20_000
    private static let fewestConnections = 16
    /// The store's files, keys, libraries, listeners, name resolution, what the shell left open.
    private static let files = 96

    package init(_ configuration: Configuration) throws(SetupError) {
        try self.init(configuration, limit: Self.processLimit)
    }

    init(_ configuration: Configuration, limit: Int) throws(SetupError) {
        let ours =
            Self.adminConnections + (configuration.metrics == nil ? 0 : Self.metricsConnections)
            + (configuration.cluster == nil ? 0 : ShardPeers.connections)
        let isClient = !configuration.peers.isEmpty || configuration.obliviousUpstream != nil
        let reserve =
            Self.files + 2 * ours + Gateways.connections(configuration)
            + (isClient ? ServiceClient.descriptors : 0)
        let batches = configuration.feedServed ? FeedFileServer.batchesAtOnce : 0
        let others = reserve + batches + HTTPLimits.lingeringRejections
        let most = max(limit - others, 0)
        connections = configuration.connections ?? min(Self.usualConnections, most)
        streams = min(configuration.streams, connections - connections / 4)
        isCut = configuration.connections == nil && connections < Self.usualConnections
        needed = connections + others
        self.limit = limit
        self.reserve = reserve
        guard connections >= Self.fewestConnections, needed <= limit else {
            throw SetupError(
                """
                \(max(connections, Self.fewestConnections)) connections and \(others) other \
                sockets and files are more than the \(limit) that this process may open
                hint: raise LimitNOFILE= in the unit (elsewhere: ulimit -Hn), or set fewer \
                connections in [http]
                """, .descriptors)
        }
    }

    /// The hard limit, which nobody here raises.
    private static var processLimit: Int {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_max)
    }

    /// The soft limit is for programs that use select(2); epoll has no such bound.
    func raiseLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(Self.resource, &limit) == 0 else { return }
        limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, rlim_t(needed + reserve)))
        unsafe setrlimit(Self.resource, &limit)
    }

    private static var resource: __rlimit_resource_t {
        __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    }

    /// The numbers that public connections may have: the last ones are in reserve.
    var publicNumbers: Int { min(limit, needed + reserve) - reserve }
}
