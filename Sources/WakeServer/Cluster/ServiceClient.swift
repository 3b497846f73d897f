import Synchronization
import WakeFetch
import WakeModel
import WakeSystem

/// Where a service of the same operator listens: another shard, or the front of all shards.
package struct ServiceAddress: Sendable, Equatable {
    /// As the file has it, with an absolute path.
    package let text: String
    fileprivate let url: FetchURL
    fileprivate let socket: String?

    static let expected = "unix:PATH of 107 bytes at most, http://HOST:PORT or https://HOST"

    /// - Parameter directory: where relative paths start.
    init?(_ text: String, _ directory: String) {
        let path = text.hasPrefix("unix:") ? String(text.dropFirst(5)) : nil
        socket = path.map { $0.hasPrefix("/") ? $0 : directory + "/" + $0 }
        self.text = socket.map { "unix:" + $0 } ?? text
        // `sun_path` with its end (unix(7)).
        guard path?.isEmpty != true, socket?.utf8.count ?? 0 <= 107,
            let url = FetchURL(ownNetwork: socket == nil ? text : "http://localhost/")
        else { return nil }
        self.url = url
    }

    /// - Parameter text: addresses with commas between them.
    static func list(_ text: String, _ directory: String) -> [ServiceAddress]? {
        let addresses = text.split(separator: ",", omittingEmptySubsequences: false).map {
            ServiceAddress(String($0.drop { $0 == " " }.prefix { $0 != " " }), directory)
        }
        return addresses.contains { $0 == nil } ? nil : addresses.compactMap(\.self)
    }
}

/// Sends registration requests to services of the same operator. Nothing waits in a queue: each
/// request ends within its time, or at once where too many are under way.
final class ServiceClient: Sendable {
    typealias Result = Swift.Result<(FetchResponse, [UInt8]), FetchError>

    private struct State {
        var fetcher: Fetcher?
        /// Requests under way, by address.
        var running: [String: Int] = [:]
    }

    /// Requests to one address at once, and to all of them.
    private static let atOnce = (each: 128, all: 512)
    /// Descriptors that they may take.
    static let descriptors = atOnce.all

    private let state = Mutex(State())

    /// - Parameter then: called once, on the fetcher's thread, or before this returns.
    func send(
        _ method: FetchRequest.Method, _ path: StaticString, to address: ServiceAddress,
        token: InstanceToken, fields: [FetchField] = [], body: [UInt8]? = nil, within: Duration,
        then: @escaping @Sendable (Result) -> Void
    ) {
        guard let fetcher = start(address.text) else { return then(.failure(.outOfResources)) }
        guard let url = try? address.url.appending(String("\(path)".dropFirst())) else {
            return end(address.text, .failure(.invalidURL), then)
        }
        let bearer = [UInt8](text: "Bearer ") + token.text().copy()
        let request = FetchRequest(
            url, method: method, fields: [FetchField("Authorization", bearer)] + fields,
            body: body, limit: Limits.registrationAnswerBytes,
            timeout: FetchTimeout(
                connect: .seconds(3), total: within,
                throughput: .atLeast(bytesPerSecond: 1, over: within)),
            purpose: .registration, socket: address.socket)
        fetcher.start(request) { [self] in end(address.text, $0, then) }
    }

    /// Counts a request; nil where there are too many, or no libcurl.
    private func start(_ address: String) -> Fetcher? {
        state.withLock { state in
            let all = state.running.values.reduce(0, +)
            guard all < Self.atOnce.all, state.running[address] ?? 0 < Self.atOnce.each else {
                return nil
            }
            if state.fetcher == nil {
                let configuration = FetchConfiguration(
                    maximumConnections: Self.atOnce.all, connectionsPerHost: Self.atOnce.each,
                    idleConnections: 32)
                state.fetcher = try? Fetcher(configuration)
            }
            if state.fetcher != nil { state.running[address, default: 0] += 1 }
            return state.fetcher
        }
    }

    private func end(_ address: String, _ result: Result, _ then: (Result) -> Void) {
        state.withLock { state in
            let left = (state.running[address] ?? 1) - 1
            state.running[address] = left > 0 ? left : nil
        }
        then(result)
    }
}
