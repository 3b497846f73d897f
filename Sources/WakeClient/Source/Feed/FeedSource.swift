import WakeFeed

/// The source that is built in: the signed feed, the secrets it is checked against, and the batches
/// that are kept of it.
struct FeedSource: Sendable {
    let configuration: ClientConfiguration
    let addresses: FeedAddresses
    let secrets: any LocalSecrets
    let cache: FeedCache

    init(
        _ configuration: ClientConfiguration, secrets: any LocalSecrets
    ) throws(ClientError) {
        self.configuration = configuration
        addresses = try FeedAddresses(configuration)
        self.secrets = secrets
        cache = FeedCache(
            configuration.cacheDirectory, feed: addresses.key.feedID,
            capacity: configuration.cacheCapacity)
    }
}
