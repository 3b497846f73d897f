import WakeCommand
import WakeFetch

/// A feed at an address, fetched as a client would: bounded, without redirects.
struct FeedSource {
    private let base: FetchURL
    private let fetcher: Fetcher

    init(_ text: String) throws(CommandFailure) {
        do throws(FetchError) {
            base = try FetchURL(text.hasSuffix("/") ? String(text.dropLast()) : text)
            fetcher = try Fetcher(FetchConfiguration())
        } catch {
            throw Self.failure(error)
        }
    }

    /// - Parameter limit: bytes; more are refused.
    func fetch(_ path: String, limit: Int) async throws(CommandFailure) -> [UInt8] {
        do throws(FetchError) {
            let request = FetchRequest(
                try base.appending(path), limit: limit, purpose: .feed)
            let (response, body) = try await fetcher.collect(request)
            guard response.status == 200 else { throw .protocolViolation }
            return body
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: FetchError) -> CommandFailure {
        switch error {
        case .libraryMissing(let library): CommandFailure("\(library)")
        case .invalidURL, .onionWithoutProxy:
            CommandFailure(
                "not an address that may be fetched",
                hint: "https://…, or http://… on this machine", status: .usage)
        case .tooLarge: CommandFailure("an answer is longer than it may be", status: .badData)
        case .protocolViolation:
            CommandFailure("the server answered with something else", status: .badData)
        default: CommandFailure("the feed could not be fetched: \(error)", status: .transient)
        }
    }
}
