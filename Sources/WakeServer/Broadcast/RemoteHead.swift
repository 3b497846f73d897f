import Glibc
import WakeFeed
import WakeFetch

/// The head of a feed that lies elsewhere, fetched as a client would and believed only with its
/// signature: whoever serves it must not be able to wake everybody.
struct RemoteHead: Sendable {
    /// Seconds between two looks.
    static let interval = 60

    private let url: FetchURL
    private let fetcher: Fetcher
    private let key: FeedKey

    /// - Parameters:
    ///   - text: the feed's address, without `head`.
    ///   - key: the feed's public key, base64url.
    init(_ text: String, key: String) throws(WatchError) {
        guard let key = FeedKey(text: key) else { throw .key }
        self.key = key
        do throws(FetchError) {
            let base = text.hasSuffix("/") ? String(text.dropLast()) : text
            url = try FetchURL(base).appending("head")
            fetcher = try Fetcher(FetchConfiguration())
        } catch {
            if case .libraryMissing = error { throw .libraryMissing }
            throw .address
        }
    }

    /// - Returns: nil when it cannot be fetched, or is no head of this feed.
    func sequence() async -> UInt64? {
        let request = FetchRequest(url, limit: FeedLimits.headBytes, purpose: .feed)
        do throws(FetchError) {
            let (response, body) = try await fetcher.collect(request)
            guard response.status == 200 else { return nil }
            return verified(body)
        } catch {
            return nil
        }
    }

    private func verified(_ bytes: [UInt8]) -> UInt64? {
        do throws(FeedError) {
            let verifier = HeadVerifier(cursor: FeedCursor(key: key))
            return try verifier.verify(bytes.span, now: Int64(time(nil))).head.sequence
        } catch {
            return nil
        }
    }
}

/// Why a feed elsewhere cannot be watched.
package enum WatchError: Error, Sendable, Equatable {
    case key
    case address
    case libraryMissing

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        switch self {
        case .key:
            """
            [broadcast] watch-key is not a feed's public key
            hint: 43 characters of base64url, as `reveille feed init` prints them
            """
        case .address:
            """
            [broadcast] watch is not an address that can be fetched
            hint: on, off, or the https:// address of the feed's directory
            """
        case .libraryMissing:
            """
            [broadcast] watch needs libcurl to look at a feed elsewhere
            hint: apt install libcurl4
            """
        }
    }
}
