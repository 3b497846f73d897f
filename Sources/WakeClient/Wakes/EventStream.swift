import Synchronization
import WakeFetch
import WakeModel
import WakeSystem

/// The client of the service's anonymous event stream: one request without anything of the client
/// in it, for as long as it lasts, and again with growing pauses when it ends.
final class EventStream {
    /// Bytes of one connection; then the client reconnects. A year of keep-alives is 1 MiB.
    static let byteLimit = 64 << 20
    /// The service sends a comment every 240 s, with jitter.
    private static let idle = Duration.seconds(600)
    /// A stream that lasted this long worked: the next pause starts small again.
    private static let steady = Duration.seconds(60)
    /// The longest pause that a server may ask for.
    private static let longestHint = Duration.seconds(3600)

    private let url: FetchURL
    private let transport: any ClientTransport
    private let environment: ClientEnvironment
    private(set) var isConnected = false

    init(
        _ url: FetchURL, through transport: any ClientTransport,
        in environment: ClientEnvironment
    ) {
        self.url = url
        self.transport = transport
        self.environment = environment
    }

    /// Keeps the stream open until the task is cancelled, and passes on each event.
    func listen(_ receive: (WakeEvent, _ isFirst: Bool) -> Void) async {
        var failures = 0
        while !Task.isCancelled {
            let start = environment.uptime()
            let inbox = StreamInbox()
            let retryAfter = await connect(inbox, receive)
            isConnected = false
            guard !Task.isCancelled else { break }
            let lasted = environment.uptime() - start
            failures = inbox.isConnected && lasted >= Self.steady ? 1 : failures + 1
            let jitter = Backoff.stream.delay(
                failures: failures, random: environment.randomUnit(),
                floor: .seconds(Int64(retryAfter ?? 0)))
            let pause = min(inbox.retry ?? .zero, Self.longestHint) + jitter
            environment.log(.streamEnded(retrySeconds: Int(pause.wholeSeconds)))
            await environment.sleep(pause)
        }
    }

    /// - Returns: at the end of the connection, the seconds that the server asked to wait.
    private func connect(
        _ inbox: StreamInbox, _ receive: (WakeEvent, _ isFirst: Bool) -> Void
    ) async -> Int? {
        let request = FetchRequest(
            url, limit: Self.byteLimit, timeout: .stream(idle: Self.idle), purpose: .stream)
        let transport = transport
        return await withTaskGroup(of: Int?.self) { group in
            group.addTask {
                defer { inbox.close() }
                let response = try? await transport.fetch(
                    request, onHead: { inbox.begin($0) }, sink: { inbox.append($0) })
                return (response ?? inbox.response)?.retryAfter
            }
            while let event = await inbox.next() {
                let isFirst = !isConnected
                if isFirst {
                    isConnected = true
                    environment.log(.streamConnected)
                }
                receive(event, isFirst)
            }
            return await group.next() ?? nil
        }
    }
}

/// The newest event of one connection, between the fetch thread and its reader.
final class StreamInbox: Sendable {
    private struct State {
        var reader = WakeEventReader()
        var response: FetchResponse?
        var hasEvent = false

        var isConnected: Bool { response?.status == 200 && response?.contentType == .eventStream }
    }

    private let state = Mutex(State())
    /// A newer wake carries a newer hint: older ones may be dropped.
    private let queue = AsyncStream.makeStream(
        of: WakeEvent.self, bufferingPolicy: .bufferingNewest(1))

    func begin(_ response: FetchResponse) -> FetchVerdict {
        state.withLock { state in
            state.response = response
            return state.isConnected ? .proceed : .stop
        }
    }

    func append(_ bytes: Span<UInt8>) -> FetchVerdict {
        let bytes = Array(copying: bytes)
        let events = state.withLock { state -> [WakeEvent]? in
            guard let events = try? state.reader.append(bytes.span) else { return nil }
            state.hasEvent = state.hasEvent || !events.isEmpty
            return events
        }
        guard let events else { return .stop }
        for event in events { queue.continuation.yield(event) }
        return .proceed
    }

    func close() { queue.continuation.finish() }

    /// The next event; nil at the end of the connection.
    func next() async -> WakeEvent? {
        for await event in queue.stream { return event }
        return nil
    }

    /// The server answered as the protocol says.
    var isConnected: Bool { state.withLock { $0.isConnected } }
    var response: FetchResponse? { state.withLock { $0.response } }
    var hasEvent: Bool { state.withLock { $0.hasEvent } }

    /// The wait before reconnecting that the server asks for.
    var retry: Duration? {
        state.withLock { $0.reader.retryMilliseconds }.map { .milliseconds(max(0, $0)) }
    }
}
