import WakeFeed
import WakeFetch

/// The addresses of a configuration, checked.
struct ClientAddresses: Sendable {
    let feedKey: FeedKey
    let feed: FetchURL
    let head: FetchURL
    let registration: FetchURL?
    let wakes: FetchURL?
    /// One operator sees who registers and who fetches.
    let sharesOrigin: Bool

    init(_ configuration: ClientConfiguration) throws(ClientError) {
        guard let key = FeedKey(text: configuration.feedKey) else {
            throw .configuration(.feedKey)
        }
        feedKey = key
        if let budget = configuration.dailyByteBudget, budget < DataBudget.least {
            throw .configuration(.dailyByteBudget)
        }
        guard configuration.cacheCapacity >= 0 else { throw .configuration(.cacheCapacity) }
        do {
            feed = try FetchURL(configuration.feed)
            head = try feed.appending("head")
        } catch {
            throw .configuration(.feedURL)
        }
        guard let text = configuration.service else {
            guard configuration.channel == .poll else { throw .configuration(.serviceMissing) }
            registration = nil
            wakes = nil
            sharesOrigin = false
            return
        }
        do {
            let service = try FetchURL(text)
            registration = try service.appending("v1/registration")
            wakes = try service.appending("v1/wakes")
            sharesOrigin = service.hasSameOrigin(as: feed)
        } catch {
            throw .configuration(.serviceURL)
        }
    }

    func batch(_ name: String) throws(ClientError) -> FetchURL {
        do {
            return try feed.appending("b/" + name)
        } catch {
            throw ClientError(error)
        }
    }
}
