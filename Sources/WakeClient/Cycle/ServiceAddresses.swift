import WakeFetch

/// Where the service is, checked; all nil when there is none.
struct ServiceAddresses: Sendable {
    let registration: FetchURL?
    let wakes: FetchURL?
    /// One operator sees who registers and who fetches.
    let sharesOrigin: Bool

    /// - Parameters:
    ///   - text: the service's URL.
    ///   - feed: where the feed lies; nil for a source of the app's own.
    init(
        _ text: String?, channel: ClientConfiguration.Channel, feed: FetchURL?
    ) throws(ClientError) {
        guard let text else {
            guard channel == .poll else { throw .configuration(.serviceMissing) }
            registration = nil
            wakes = nil
            sharesOrigin = false
            return
        }
        do {
            let service = try FetchURL(text)
            registration = try service.appending("v1/registration")
            wakes = try service.appending("v1/wakes")
            sharesOrigin = feed.map { service.hasSameOrigin(as: $0) } ?? false
        } catch {
            throw .configuration(.serviceURL)
        }
    }

    /// Of a client of the feed.
    init(_ configuration: ClientConfiguration) throws(ClientError) {
        let feed = try FeedAddresses(configuration)
        try self.init(configuration.service, channel: configuration.channel, feed: feed.base)
    }
}
