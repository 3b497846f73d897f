import Synchronization
package import WakeFetch
package import WakeHTTP
import WakeModel
import WakeOblivious
import WakeSystem

/// A relay of Oblivious HTTP (RFC 9458 §6.2): forwards what it cannot read to one gateway, and says
/// nothing of whom it is from. It stores nothing, logs nothing, and keeps of an address a hash in
/// memory, by which requests are counted.
package struct ObliviousRelay: Sendable {
    package struct Settings: Sendable {
        package var listen: Configuration.Address
        package var proxyProtocol = false
        /// The gateway: the URL that encapsulated requests are sent to.
        package var gateway: FetchURL
        /// Requests of one network (/24, /56) in a minute, where it shows.
        package var perMinute = 60

        package init(listen: Configuration.Address, gateway: FetchURL) {
            self.listen = listen
            self.gateway = gateway
        }
    }

    private let server: HTTPServer
    private let fetcher: Fetcher

    /// Requests that wait for the gateway at once; more are answered 503.
    private static let requestsAtOnce = 256
    private static let connections = 4096

    /// Binds the listener.
    package init(_ settings: Settings) throws(ObliviousRelayError) {
        var fetching = FetchConfiguration()
        fetching.maximumConnections = Self.requestsAtOnce
        fetching.connectionsPerHost = Self.requestsAtOnce
        let configuration = fetching
        let fetcher = try mapError({ _ in ObliviousRelayError.libraryMissing }) {
            () throws(FetchError) in try Fetcher(configuration)
        }
        self.fetcher = fetcher
        let forwarder = ObliviousForwarder(settings, fetcher, atOnce: Self.requestsAtOnce)
        var limits = HTTPLimits()
        limits.bodyBytes = Limits.requestBodyBytes
        limits.connections = Self.connections
        limits.connectionsPerSource = 64
        limits.streams = 0
        let bounds = limits
        server = try mapError(ObliviousRelayError.http) { () throws(HTTPServerError) in
            try HTTPServer(
                listeners: [
                    ListenerConfiguration(
                        settings.listen.listening(mode: 0o666),
                        proxyProtocol: settings.proxyProtocol
                    ) { forwarder.handle($0, $1) }
                ], limits: bounds)
        }
    }

    /// The port that is listened on; 0 for a Unix socket.
    package var port: UInt16 { server.ports.first ?? 0 }

    /// Serves until the task is cancelled.
    package func run() async {
        await server.run()
        await fetcher.close()
    }

    /// Whether requests are answered.
    package var isServing: Bool { get async { await server.isServing } }
}

/// The reason why a relay cannot be started.
package enum ObliviousRelayError: Error, Sendable {
    /// libcurl, which speaks to the gateway.
    case libraryMissing
    case http(HTTPServerError)
}

/// Answers the clients of a relay.
private final class ObliviousForwarder: Sendable {
    private struct State {
        var waiting = 0
        /// By the hash of a prefix, the time at which its count has leaked, nanoseconds.
        var ends = [UInt64](repeating: 0, count: places)
    }

    private let state = Mutex(State())
    private let gateway: FetchURL
    private let fetcher: Fetcher
    private let atOnce: Int
    private let perMinute: Int

    private static let places = 16_384
    private static let timeout = FetchTimeout(
        connect: .seconds(5), total: .seconds(20),
        throughput: .atLeast(bytesPerSecond: 128, over: .seconds(10)))

    init(_ settings: ObliviousRelay.Settings, _ fetcher: Fetcher, atOnce: Int) {
        gateway = settings.gateway
        perMinute = settings.perMinute
        self.fetcher = fetcher
        self.atOnce = atOnce
    }

    func handle(_ request: Request, _ responder: Responder) {
        guard request.isPath("/"), request.query == nil else {
            return responder.respond(.problem(.notFound))
        }
        guard request.method == .post else {
            return responder.respond(.methodNotAllowed(allow: "POST"))
        }
        guard request.hasType(ObliviousRequest.mediaType) else {
            return responder.respond(.problem(.obliviousTypeUnsupported))
        }
        guard request.body.count >= ObliviousRequest.overhead else {
            return responder.respond(.problem(.obliviousMalformed))
        }
        if let problem = admit(responder.source) { return responder.respond(.problem(problem)) }
        // RFC 9458 §6.2: the content alone; no field of the client's goes on.
        let forwarded = FetchRequest(
            gateway, method: .post,
            fields: [FetchField("Content-Type", ObliviousRequest.mediaType)],
            body: Array(request.body), limit: 2 * Limits.obliviousAnswerBytes,
            timeout: Self.timeout, purpose: .gateway)
        fetcher.start(forwarded) { [self] result in
            state.withLock { $0.waiting -= 1 }
            responder.respond(Self.response(result))
        }
    }

    /// Counts a request; the reason to refuse it otherwise.
    private func admit(_ source: PrefixHash?) -> Problem? {
        let now = SystemClock.bootNanoseconds
        let minute: UInt64 = 60_000_000_000
        let interval = minute / UInt64(perMinute)
        return state.withLock { state in
            guard state.waiting < atOnce else { return .overloaded }
            if let places = source?.slots(of: Self.places) {
                let end = max(state.ends[places.0], state.ends[places.1], now)
                guard end - now + interval <= minute else { return .relayBusy }
                state.ends[places.0] = end + interval
                state.ends[places.1] = end + interval
            }
            state.waiting += 1
            return nil
        }
    }

    /// What the gateway said: an encapsulated answer, or why there is none (RFC 9458 §5.2).
    private static func response(
        _ result: Result<(FetchResponse, [UInt8]), FetchError>
    ) -> Response {
        guard case .success(let (answer, body)) = result else {
            return .problem(.relayUnavailable)
        }
        // The one thing beside it that a client has to know.
        let wait = answer.retryAfter.map { [("Retry-After" as StaticString, String($0))] } ?? []
        switch (answer.status, answer.contentType) {
        case (200, .obliviousResponse):
            return Response(
                200,
                fields: [("Content-Type", "\(ResponseProtection.mediaType)")]
                    + Response.privateFields,
                body: .bytes(body))
        case (400..<500, .problem):
            return Response(
                UInt16(answer.status),
                fields: [("Content-Type", "application/problem+json")] + Response.privateFields
                    + wait,
                body: .bytes(body))
        default:
            let problem = Problem.relayUnavailable
            return .problem(problem.status, title: problem.title, code: problem.code, fields: wait)
        }
    }
}
