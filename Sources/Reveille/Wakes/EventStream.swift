import Synchronization
import WakeFetch
import WakeModel
import WakeSystem

/// The client of the service's anonymous event stream: one request without anything of the client
/// in it, for as long as it lasts, and again with growing pauses when it ends.
final class EventStream {
    /// Bytes of one connection; then the client reconnects. A year of keep-alives is 6 MiB.
    static let byteLimit = 64 << 20
    /// The service sends the first event at once (Policy/PROTOCOL.md). Later than this, something
    /// on the way keeps it back, and wakes would come as late.
    static let firstEventTime = Duration.seconds(60)
    /// The service sends a comment every 240 s at least (Policy/PROTOCOL.md).
    private static let idle = Duration.seconds(600)
    /// The least event that is one has 19 bytes, a comment that keeps the stream open mostly 3. TLS
    /// adds 22 bytes to each, or more (RFC 8446 §5.2). So that every second comment wakes, and two
    /// of them are never as far apart as `idle`.
    private static let leastBytes: (plain: Int32, secure: Int32) = (6, 41)
    /// A stream that lasted this long worked: the next pause starts small again.
    private static let steady = Duration.seconds(60)
    /// The longest pause that a server may ask for.
    private static let longestHint = Duration.seconds(3600)

    private let url: FetchURL
    private let transport: any ClientTransport
    private let environment: ClientEnvironment
    private(set) var state = StreamState.waiting
    private var cuts = StreamCuts()
    /// Signalled when the machine has slept: the connection is ended, and another one begun.
    let resumed = AsyncEvent()

    init(
        _ url: FetchURL, through transport: any ClientTransport,
        in environment: ClientEnvironment
    ) {
        self.url = url
        self.transport = transport
        self.environment = environment
    }

    /// Keeps the stream open until the task is cancelled, and passes on each event.
    func listen(_ receive: (StreamInbox.Item, _ isFirst: Bool) -> Void) async {
        var failures = 0
        while !Task.isCancelled {
            let start = environment.uptime()
            cuts.began(at: start)
            let inbox = StreamInbox(in: environment)
            state = .connecting
            await connect(inbox, receive)
            let lasted = environment.uptime() - start
            cuts.ended(after: lasted, isCut: inbox.hasEvent && !inbox.isAbandoned)
            state = Self.end(of: inbox, after: lasted)
            guard !Task.isCancelled else { break }
            // Nothing failed, and what may have been missed is asked for at once.
            if inbox.isAbandoned {
                failures = 0
                continue
            }
            failures = inbox.hasEvent && lasted >= Self.steady ? 1 : failures + 1
            let jitter = Backoff.stream.delay(
                failures: failures, random: environment.randomUnit(),
                floor: .seconds(Int64(inbox.response?.retryAfter ?? 0)))
            let pause = min(inbox.retry ?? .zero, Self.longestHint) + jitter
            let seconds = Int(pause.wholeSeconds)
            environment.log(
                state == .silent
                    ? .streamSilent(retrySeconds: seconds) : .streamEnded(retrySeconds: seconds))
            await resumed.wait(for: pause, in: environment)
        }
    }

    /// The time after which a proxy on the way cuts the streams, as the last ones showed.
    var cutAfter: Duration? { cuts.after(now: environment.uptime()) }

    private static func end(of inbox: StreamInbox, after time: Duration) -> StreamState {
        if inbox.hasEvent { return .waiting }
        if let response = inbox.response, !inbox.isConnected {
            return .refused(status: response.status)
        }
        return time >= firstEventTime ? .silent : .waiting
    }

    /// Returns at the end of the connection, which is ended when no first event comes.
    private func connect(
        _ inbox: StreamInbox, _ receive: (StreamInbox.Item, _ isFirst: Bool) -> Void
    ) async {
        var request = FetchRequest(
            url, limit: Self.byteLimit, timeout: .stream(idle: Self.idle), purpose: .stream)
        request.leastBytes =
            url.scheme == .https ? Self.leastBytes.secure : Self.leastBytes.plain
        let (transport, environment) = (transport, environment)
        await withTaskGroup(of: Void.self) { [request] group in
            group.addTask {
                defer { inbox.close() }
                _ = try? await transport.fetch(
                    request, onHead: { inbox.begin($0) }, sink: { inbox.append($0) })
            }
            group.addTask {
                await environment.sleep(Self.firstEventTime)
                if !inbox.hasEvent { inbox.close() }
            }
            group.addTask { [resumed] in
                await resumed.wait()
                if !Task.isCancelled { inbox.abandon() }
            }
            while let item = await inbox.next() {
                let isFirst = state != .connected
                if isFirst {
                    state = .connected
                    environment.log(.streamConnected)
                }
                receive(item, isFirst)
            }
            group.cancelAll()
        }
    }
}

/// The lives of the last connections. A proxy that cuts streams gives them all the same length;
/// networks and services that come and go do not.
struct StreamCuts {
    /// Connections that must have been equally long.
    private static let needed = 3
    /// What lives longer reached the time after which this client itself gives a silent one up.
    private static let longest = Duration.seconds(600)

    private var lives: [Duration] = []
    private var begin = Duration.zero

    mutating func began(at time: Duration) { begin = time }

    /// - Parameter isCut: it had worked, and it was not this client that ended it.
    mutating func ended(after life: Duration, isCut: Bool) {
        guard isCut, life < Self.longest else {
            lives = []
            return
        }
        let isAlike = lives.allSatisfy {
            abs(($0 - life) / .seconds(1)) <= max(2, life / .seconds(20))
        }
        lives = (isAlike ? lives.suffix(Self.needed - 1) : []) + [life]
    }

    /// Nil as well when the present connection lives longer than those did.
    func after(now: Duration) -> Duration? {
        guard lives.count == Self.needed, let last = lives.max(), now - begin < last * 2
        else { return nil }
        return last
    }
}

/// The newest event of one connection, between the fetch thread and its reader.
final class StreamInbox: Sendable {
    private struct State {
        var reader = WakeEventReader()
        var response: FetchResponse?
        var hasEvent = false
        var isAbandoned = false

        var isConnected: Bool { response?.status == 200 && response?.contentType == .eventStream }
    }

    /// An event, and its arrival by the clock of uptime.
    typealias Item = (event: WakeEvent, time: Duration)

    private let state = Mutex(State())
    private let environment: ClientEnvironment
    /// A newer wake carries a newer hint: older ones may be dropped.
    private let queue = AsyncStream.makeStream(
        of: Item.self, bufferingPolicy: .bufferingNewest(1))

    init(in environment: ClientEnvironment) { self.environment = environment }

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
        // On the fetch thread: the client's own queue may be late.
        let now = environment.uptime()
        for event in events { queue.continuation.yield((event, now)) }
        return .proceed
    }

    /// Ends the connection, which may be dead.
    func abandon() {
        state.withLock { $0.isAbandoned = true }
        close()
    }

    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    func close() { queue.continuation.finish() }

    /// The next event; nil at the end of the connection.
    func next() async -> Item? {
        for await item in queue.stream { return item }
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
