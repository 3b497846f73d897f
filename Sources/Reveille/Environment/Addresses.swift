import WakeFeed
import WakeFetch
import WakeSystem

/// The service's URLs, checked; all nil when there is no service.
struct ServiceAddresses: Sendable {
    let registration: FetchURL?
    let wakes: FetchURL?
    let testPush: FetchURL?
    /// Where registrations go instead, encapsulated.
    private(set) var relay: FetchURL?
    /// One operator sees who registers and who fetches.
    let sharesOrigin: Bool

    /// - Parameter feed: nil for a source of the app's own.
    init(
        _ text: String?, channel: ClientConfiguration.Channel, feed: FetchURL?
    ) throws(ClientError) {
        guard let text else {
            guard channel == .poll else { throw .configuration(.serviceMissing) }
            (registration, wakes, testPush, sharesOrigin) = (nil, nil, nil, false)
            return
        }
        do {
            let service = try FetchURL(text)
            registration = try service.appending("v1/registration")
            wakes = try service.appending("v1/wakes")
            testPush = try service.appending("v1/registration/wake")
            sharesOrigin = feed.map { service.hasSameOrigin(as: $0) } ?? false
        } catch {
            throw .configuration(.serviceURL)
        }
    }

    init(_ configuration: ClientConfiguration) throws(ClientError) {
        let feed = try FeedAddresses(configuration)
        try self.init(configuration.service, channel: configuration.channel, feed: feed.base)
        try registration?.checkReach(configuration)
        guard let oblivious = configuration.oblivious else { return }
        guard registration != nil, let relay = try? FetchURL(oblivious) else {
            throw .configuration(.obliviousURL)
        }
        try relay.checkReach(configuration)
        self.relay = relay
    }
}

/// The feed's URLs and one of its keys, checked.
struct FeedAddresses: Sendable {
    let key: FeedKey
    let base: FetchURL
    let head: FetchURL
    let keys: FetchURL
    /// nil when heads are believed for their signature alone.
    let policy: WitnessPolicy?

    init(_ configuration: ClientConfiguration) throws(ClientError) {
        guard let key = FeedKey(text: configuration.feedKey) else { throw .configuration(.feedKey) }
        self.key = key
        if let budget = configuration.dailyByteBudget, budget < DailyQuota.least {
            throw .configuration(.dailyByteBudget)
        }
        guard configuration.cacheCapacity >= 0 else { throw .configuration(.cacheCapacity) }
        policy = try configuration.witnesses.map { text throws(ClientError) in
            try mapError({ ClientError.configuration(.witnesses(line: $0.line)) }) {
                () throws(WitnessPolicyError) in try WitnessPolicy(Array(text.utf8))
            }
        }
        if let policy, !policy.isSatisfiable { throw .configuration(.witnesses(line: 0)) }
        do {
            base = try FetchURL(configuration.feed)
            head = try base.appending("head")
            keys = try base.appending("keys")
        } catch {
            throw .configuration(.feedURL)
        }
        try base.checkReach(configuration)
    }

    func batch(_ name: String) throws(ClientError) -> FetchURL {
        try mapError(ClientError.init) { () throws(FetchError) in try base.appending("b/" + name) }
    }
}

extension FetchURL {
    /// An onion service is reached through a proxy alone.
    fileprivate func checkReach(_ configuration: ClientConfiguration) throws(ClientError) {
        if reach == .onion, configuration.proxy == nil { throw .configuration(.proxy) }
    }
}
