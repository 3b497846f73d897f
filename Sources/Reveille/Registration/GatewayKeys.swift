import Synchronization
import WakeFeed
import WakeFetch
import WakeSystem

/// The keys of the service's gateway (RFC 9458), fetched from beside the feed's head, where they
/// are the same for everybody: none is used that the newest head does not name by its hash.
final class GatewayKeys: Sendable {
    private struct State {
        var named = GatewayKeyHashes()
        /// As fetched, or as kept by an earlier process.
        var list: [KeyConfiguration] = []
    }

    private let state: Mutex<State>
    private let url: FetchURL
    /// Where the list is kept, if it is: it may be lost, and is worth nothing to who changes it.
    private let path: String?

    private static let name = "/ohttp-keys"

    /// None is named yet.
    /// - Parameters:
    ///   - feed: the directory that holds the head.
    ///   - cacheDirectory: nil to keep nothing.
    /// - Returns: nil where registrations go to the service directly.
    init?(
        of service: ServiceAddresses, _ feed: FetchURL, _ cacheDirectory: String?
    ) throws(ClientError) {
        guard service.relay != nil else { return nil }
        url = try mapError(ClientError.init) { () throws(FetchError) in
            try feed.appending(String(Self.name.dropFirst()))
        }
        path = cacheDirectory.map { $0 + Self.name }
        let kept = path.flatMap { try? Files.read($0, limit: KeyConfiguration.longestList) }
        let list = kept.flatMap(KeyConfiguration.list) ?? []
        state = Mutex(State(list: list))
    }

    /// A newer head names these.
    func name(_ hashes: GatewayKeyHashes) { state.withLock { $0.named = hashes } }

    /// Forgets what was fetched: the gateway did not know the key, or nothing is to be left.
    func forget() {
        state.withLock { $0.list = [] }
        if let path { try? Files.remove(path) }
    }

    /// Fetches the list unless a key of it is named: with the feed, not when it is needed, so that
    /// nobody can join a registration with a fetch by their times.
    func refresh(through transport: any ClientTransport) async throws(FetchError) {
        guard !state.withLock({ $0.named.hashes.isEmpty }), known == nil else { return }
        let request = FetchRequest(url, limit: KeyConfiguration.longestList, purpose: .feed)
        let (bytes, response) = try await transport.answer(to: request)
        guard response.status == 200, let list = KeyConfiguration.list(bytes) else {
            throw .keyRefused
        }
        state.withLock { $0.list = list }
        // Also what the head does not name: the next one may.
        keep(bytes)
        guard known != nil else { throw .keyRefused }
    }

    private func keep(_ bytes: [UInt8]) {
        guard let path else { return }
        if let directory = Files.parent(of: path) { try? Files.makeDirectory(directory) }
        try? Files.replace(path, with: bytes.span, mode: 0o600)
    }

    /// The key to encapsulate for, fetched if need be.
    /// - Throws: `keyRefused` when the newest head names none, or none that is offered.
    func current(through transport: any ClientTransport) async throws(FetchError)
        -> KeyConfiguration
    {
        try await refresh(through: transport)
        guard let known else { throw .keyRefused }
        return known
    }

    /// The first that is named, the current one before the former.
    private var known: KeyConfiguration? {
        let (hashes, list) = state.withLock { ($0.named.hashes, $0.list) }
        for hash in hashes {
            if let key = list.first(where: { $0.hash == hash }) { return key }
        }
        return nil
    }
}
