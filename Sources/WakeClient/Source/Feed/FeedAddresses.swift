import WakeFeed
import WakeFetch

/// Where the feed lies and whose signature it bears, checked.
struct FeedAddresses: Sendable {
    let key: FeedKey
    let base: FetchURL
    let head: FetchURL

    init(_ configuration: ClientConfiguration) throws(ClientError) {
        guard let key = FeedKey(text: configuration.feedKey) else {
            throw .configuration(.feedKey)
        }
        self.key = key
        if let budget = configuration.dailyByteBudget, budget < DataBudget.least {
            throw .configuration(.dailyByteBudget)
        }
        guard configuration.cacheCapacity >= 0 else { throw .configuration(.cacheCapacity) }
        do {
            base = try FetchURL(configuration.feed)
            head = try base.appending("head")
        } catch {
            throw .configuration(.feedURL)
        }
    }

    func batch(_ name: String) throws(ClientError) -> FetchURL {
        do {
            return try base.appending("b/" + name)
        } catch {
            throw ClientError(error)
        }
    }
}
