import Reveille
import Synchronization
package import WakeFetch
import WakeSystem

/// Everything that can be reached in a simulated world: a service, a feed, and what goes wrong
/// between them and the client.
public final class SimulatedNetwork: Sendable {
    /// What a client talks to.
    public enum Peer: Sendable, CaseIterable {
        /// The feed, or what a `PrivateFetch` asks for.
        case feed
        /// The service, for registrations.
        case service
        /// The service's event stream.
        case stream

        fileprivate var purpose: FetchPurpose {
            switch self {
            case .feed: .feed
            case .service: .registration
            case .stream: .stream
            }
        }
    }

    /// What goes wrong on the way.
    public enum Fault: Sendable {
        /// There is no network, or nobody answers at the address.
        case unreachable
        /// The certificate cannot be verified.
        case tls
        /// Nothing comes back in time.
        case timeout

        fileprivate var error: FetchError {
            switch self {
            // CURLE_COULDNT_CONNECT, CURLE_PEER_FAILED_VERIFICATION, an unknown issuer
            case .unreachable: .network(code: 7)
            case .tls: .tls(code: 60, certificate: 20)
            case .timeout: .timeout
            }
        }
    }

    /// One request, as a server or an observer of the line would see it.
    package struct Trace: Sendable, Equatable {
        package let time: Duration
        package let purpose: FetchPurpose
        package let method: FetchRequest.Method
        package let path: String
        package let fields: [String]
        package let bodyBytes: Int
        package let range: UInt64?
        package let rangeEnd: UInt64?

        package init(
            time: Duration, purpose: FetchPurpose, method: FetchRequest.Method, path: String,
            fields: [String], bodyBytes: Int, range: UInt64?, rangeEnd: UInt64?
        ) {
            self.time = time
            self.purpose = purpose
            self.method = method
            self.path = path
            self.fields = fields
            self.bodyBytes = bodyBytes
            self.range = range
            self.rangeEnd = rangeEnd
        }
    }

    /// What a server answers.
    package struct Answer: Sendable {
        package var status = 200
        package var body: [UInt8] = []
        package var contentType: FetchContentType? = .octetStream
        package var retryAfter: Int?
        /// The body ends after so many bytes, though more was announced.
        package var cutAfter: Int?
        /// The server did its work, and the answer never arrives.
        package var isLost = false
        /// Nothing reaches the server.
        package var isUnsent = false
        /// No Content-Length: the bound shows only as the bytes come.
        package var isUnannounced = false
        package var ignoresRange = false
        package var delay = Duration.milliseconds(20)

        package init(
            status: Int = 200, body: [UInt8] = [], contentType: FetchContentType? = .octetStream,
            retryAfter: Int? = nil, cutAfter: Int? = nil, isLost: Bool = false,
            isUnsent: Bool = false, isUnannounced: Bool = false, ignoresRange: Bool = false,
            delay: Duration = .milliseconds(20)
        ) {
            self.status = status
            self.body = body
            self.contentType = contentType
            self.retryAfter = retryAfter
            self.cutAfter = cutAfter
            self.isLost = isLost
            self.isUnsent = isUnsent
            self.isUnannounced = isUnannounced
            self.ignoresRange = ignoresRange
            self.delay = delay
        }

        /// The same, which never arrives.
        func lost() -> Answer {
            var copy = self
            copy.isLost = true
            return copy
        }
    }

    package typealias Route = @Sendable (FetchRequest) -> Answer?

    private struct State {
        var traces: [Trace] = []
        var requests: [FetchRequest] = []
        var faults: [FetchPurpose: FetchError] = [:]
        var streams: [UInt64: AsyncStream<[UInt8]>.Continuation] = [:]
        var lastStream: UInt64 = 0
        var bytesDelivered = 0
        var bytesSent = 0
    }

    private let state = Mutex(State())
    private let time: SimulatedTime
    private let route: Route

    package init(_ time: SimulatedTime, route: @escaping Route) {
        self.time = time
        self.route = route
    }

    package var traces: [Trace] { state.withLock { $0.traces } }

    /// The same, with everything in them.
    package var requests: [FetchRequest] { state.withLock { $0.requests } }

    /// Bytes of bodies that clients took before they stopped or were satisfied.
    package var bytesDelivered: Int { state.withLock { $0.bytesDelivered } }

    /// Bytes of bodies that servers would have sent, had nobody stopped them.
    package var bytesSent: Int { state.withLock { $0.bytesSent } }

    /// Every request of this purpose fails so, until delivered otherwise.
    package func fail(_ purpose: FetchPurpose, with error: FetchError?) {
        state.withLock { $0.faults[purpose] = error }
    }

    /// Lets every request to these peers, or to all, fail so; nil ends that.
    public func fail(_ peers: Set<Peer> = Set(Peer.allCases), with fault: Fault?) {
        for peer in peers { fail(peer.purpose, with: fault?.error) }
    }

    /// When requests were sent to a peer, by the clock `SimulatedTime.now`.
    public func requestTimes(to peer: Peer) -> [Duration] {
        traces.filter { $0.purpose == peer.purpose }.map(\.time)
    }

    package func failEverything(with error: FetchError?) {
        for purpose in FetchPurpose.allCases { fail(purpose, with: error) }
    }

    /// Sends bytes to every open stream.
    package func broadcast(_ bytes: [UInt8]) {
        let streams = state.withLock { Array($0.streams.values) }
        for stream in streams { stream.yield(bytes) }
    }

    /// Ends every open stream.
    public func dropStreams() {
        let streams = state.withLock { state in
            defer { state.streams = [:] }
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }

    package var openStreams: Int { state.withLock { $0.streams.count } }

    package func fetch(
        _ request: FetchRequest,
        onHead: @escaping @Sendable (FetchResponse) -> FetchVerdict,
        sink: @escaping @Sendable (Span<UInt8>) -> FetchVerdict
    ) async throws(FetchError) -> FetchResponse {
        record(request)
        if let fault = state.withLock({ $0.faults[request.purpose] }) {
            await time.sleep(.milliseconds(10))
            throw fault
        }
        guard let answer = route(request) else {
            throw .network(code: 7)
        }
        if answer.delay > .zero { await time.sleep(answer.delay) }
        guard !Task.isCancelled else { throw .cancelled }
        guard !answer.isLost else { throw .timeout }
        if request.purpose == .stream, answer.status == 200 {
            return try await stream(answer, onHead: onHead, sink: sink)
        }
        return try deliver(answer, for: request, onHead: onHead, sink: sink)
    }

    /// Connections end with their answers here.
    package func quiesce(_ purpose: FetchPurpose) {}

    private func record(_ request: FetchRequest) {
        let text = String(decoding: request.url.bytes, as: UTF8.self)
        let path = text.split(separator: "/", maxSplits: 2).last.map { "/" + $0 } ?? "/"
        let trace = Trace(
            time: time.now, purpose: request.purpose, method: request.method,
            path: path, fields: request.fields.map(\.name.description),
            bodyBytes: request.body?.count ?? 0, range: request.range, rangeEnd: request.rangeEnd)
        state.withLock { state in
            state.traces.append(trace)
            state.requests.append(request)
        }
    }

    private func deliver(
        _ answer: Answer, for request: FetchRequest,
        onHead: (FetchResponse) -> FetchVerdict, sink: (Span<UInt8>) -> FetchVerdict
    ) throws(FetchError) -> FetchResponse {
        var body = answer.body[...]
        var status = answer.status
        var start: UInt64?
        if let range = request.range, status == 200, !answer.ignoresRange {
            if range >= UInt64(body.count) {
                status = 416
                body = []
            } else {
                status = 206
                start = range
                body = body.dropFirst(Int(range))
                if let end = request.rangeEnd { body = body.prefix(Int(end - range) + 1) }
            }
        }
        let count = body.count
        state.withLock { $0.bytesSent += count }
        let response = FetchResponse(
            status: status, contentLength: UInt64(body.count), contentRangeStart: start,
            contentRangeTotal: start == nil ? nil : UInt64(answer.body.count),
            retryAfter: answer.retryAfter, contentType: answer.contentType)
        guard onHead(response) == .proceed else { throw .stopped }
        guard response.isSuccess else {
            let part = Array(body.prefix(request.limit))
            guard sink(part.span) == .proceed else { throw .stopped }
            return response
        }
        guard body.count <= request.limit || answer.isUnannounced else { throw .tooLarge }
        var received = 0
        let sent = body.prefix(answer.cutAfter ?? body.count)
        var offset = sent.startIndex
        while offset < sent.endIndex {
            let piece = Array(sent[offset..<min(offset + 16_384, sent.endIndex)])
            state.withLock { $0.bytesDelivered += piece.count }
            received += piece.count
            guard received <= request.limit else { throw .tooLarge }
            guard sink(piece.span) == .proceed else { throw .stopped }
            offset += piece.count
        }
        guard sent.count == body.count else { throw .truncated }
        return response
    }

    private func stream(
        _ answer: Answer, onHead: (FetchResponse) -> FetchVerdict,
        sink: (Span<UInt8>) -> FetchVerdict
    ) async throws(FetchError) -> FetchResponse {
        let response = FetchResponse(status: 200, contentType: answer.contentType)
        guard onHead(response) == .proceed else { throw .stopped }
        let (pieces, sender) = AsyncStream<[UInt8]>.makeStream()
        let id = state.withLock { state in
            state.lastStream += 1
            state.streams[state.lastStream] = sender
            return state.lastStream
        }
        defer { state.withLock { $0.streams[id] = nil } }
        guard sink(answer.body.span) == .proceed else { throw .stopped }
        for await piece in pieces {
            guard sink(piece.span) == .proceed else { throw .stopped }
        }
        guard !Task.isCancelled else { throw .cancelled }
        return response
    }
}

extension SimulatedNetwork: ClientTransport {}
