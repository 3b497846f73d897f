import Synchronization
import WakeFetch
import WakeSystem

@testable import Reveille

/// Everything that can be reached in a simulated world: a service, a feed, and what goes wrong
/// between them and the client.
final class SimulatedNetwork: ClientTransport {
    /// One request, as a server or an observer of the line would see it.
    struct Trace: Sendable, Equatable {
        let time: Duration
        let purpose: FetchPurpose
        let method: FetchRequest.Method
        let path: String
        let fields: [String]
        let bodyBytes: Int
        let range: UInt64?
        let rangeEnd: UInt64?
    }

    /// What a server answers.
    struct Answer: Sendable {
        var status = 200
        var body: [UInt8] = []
        var contentType: FetchContentType? = .octetStream
        var retryAfter: Int?
        /// The body ends after so many bytes, though more was announced.
        var cutAfter: Int?
        /// The server did its work, and the answer never arrives.
        var isLost = false
        /// Nothing reaches the server.
        var isUnsent = false
        /// No Content-Length: the bound shows only as the bytes come.
        var isUnannounced = false
        var ignoresRange = false
        var delay = Duration.milliseconds(20)
    }

    typealias Route = @Sendable (FetchRequest) -> Answer?

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

    init(_ time: SimulatedTime, route: @escaping Route) {
        self.time = time
        self.route = route
    }

    var traces: [Trace] { state.withLock { $0.traces } }

    /// The same, with everything in them.
    var requests: [FetchRequest] { state.withLock { $0.requests } }

    /// Bytes of bodies that clients took before they stopped or were satisfied.
    var bytesDelivered: Int { state.withLock { $0.bytesDelivered } }

    /// Bytes of bodies that servers would have sent, had nobody stopped them.
    var bytesSent: Int { state.withLock { $0.bytesSent } }

    /// Every request of this purpose fails so, until delivered otherwise.
    func fail(_ purpose: FetchPurpose, with error: FetchError?) {
        state.withLock { $0.faults[purpose] = error }
    }

    func failEverything(with error: FetchError?) {
        for purpose in FetchPurpose.allCases { fail(purpose, with: error) }
    }

    /// Sends bytes to every open stream.
    func broadcast(_ bytes: [UInt8]) {
        let streams = state.withLock { Array($0.streams.values) }
        for stream in streams { stream.yield(bytes) }
    }

    /// Ends every open stream.
    func dropStreams() {
        let streams = state.withLock { state in
            defer { state.streams = [:] }
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }

    var openStreams: Int { state.withLock { $0.streams.count } }

    func fetch(
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
    func quiesce(_ purpose: FetchPurpose) {}

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
