import TestSupport
import WakeSystem

@testable import WakeHTTP

/// An `HTTPConnection` without a socket: a test decides how bytes arrive, how answers come and how
/// much the socket takes.
struct SimulatedConnection {
    var http: HTTPConnection
    let context: ConnectionContext
    /// Bytes that the client received.
    private(set) var sent: [UInt8] = []
    /// Bytes that wait for the client.
    private var unsent: [UInt8] = []
    /// Requests given to the handler and not yet answered, oldest first.
    private(set) var waiting: [(request: Request, sequence: UInt32)] = []
    private(set) var requests: [Request] = []
    private(set) var screened = 0
    private(set) var isClosed = false
    private(set) var wasDropped = false
    private(set) var hasEndedSending = false
    private let permits: BodyMemoryPermits
    /// The answer to a request, given at once; nil for one that the test gives later.
    var handler: (Request) -> HTTPConnection.Answer?
    var screen: (Request) -> Response? = { _ in nil }
    /// Whether the socket takes nothing.
    var isStuck = false
    /// Bytes that the client sent and the connection did not want yet.
    private var unread: [UInt8] = []

    init(
        limits: HTTPLimits = HTTPLimits(), parserLimits: RequestLimits = RequestLimits(),
        awaitsProxyHeader: Bool = false, permits: BodyMemoryPermits = BodyMemoryPermits(100),
        handler: @escaping (Request) -> HTTPConnection.Answer? = SimulatedConnection.echo
    ) {
        http = HTTPConnection(limits: parserLimits, awaitsProxyHeader: awaitsProxyHeader)
        context = ConnectionContext(limits: limits, counters: HTTPCounters()) { 0 }
        context.setTime(1_000_000_000_000, wallSeconds: 784_111_777)
        self.permits = permits
        self.handler = handler
        finish()
    }

    /// 200 with `method path body-length`.
    static func echo(_ request: Request) -> HTTPConnection.Answer? {
        let text = Array("\(request.method) ".utf8) + request.path
        return .response(
            Response(200, body: .bytes(text + Array(" \(request.body.count)".utf8))))
    }

    /// Answers later, by `answer`.
    static func hold(_ request: Request) -> HTTPConnection.Answer? { nil }

    var text: String { String(decoding: sent, as: UTF8.self) }

    /// The client sends, and the connection reads what it wants.
    mutating func send(_ bytes: some Collection<UInt8>) {
        unread += bytes
        finish()
    }

    /// The client ends its side; everything before is received first.
    mutating func endSending() {
        perform(http.peerEnded(isBroken: false))
        finish()
        while !isClosed, http.readiness.canReceive, unread.isEmpty {
            perform(http.receiveEnd(context))
            finish()
        }
    }

    /// Answers the oldest waiting request.
    mutating func answer(_ answer: HTTPConnection.Answer) {
        let oldest = waiting.removeFirst()
        _ = http.offer(answer, sequence: oldest.sequence)
        finish()
    }

    /// The client takes `count` of the bytes that wait for it.
    mutating func take(_ count: Int = .max) {
        let count = min(count, unsent.count)
        sent += unsent.prefix(count)
        unsent.removeFirst(count)
        if unsent.isEmpty {
            perform(http.written(hasUnread: !unread.isEmpty, context))
        } else {
            perform(http.blocked(after: count, context))
        }
        finish()
    }

    mutating func advance(seconds: Double) {
        context.setTime(
            context.now + UInt64(seconds * 1_000_000_000), wallSeconds: 784_111_777)
        if http.readiness.deadline <= context.now { perform(http.expire(context)) }
        finish()
    }

    mutating func drain() {
        context.beginDraining()
        perform(http.drain())
        finish()
    }

    /// Does everything that can be done now.
    mutating func finish() {
        var readiness: HTTPConnection.Readiness
        repeat {
            if !isClosed { perform(http.advance(context)) }
            if !isClosed, http.readiness.canReceive, !unread.isEmpty {
                let bytes = unread
                unread = []
                perform(http.receive(bytes.span, context))
            }
            flush()
            readiness = http.readiness
        } while !isClosed && (readiness.canAdvance || readiness.canReceive && !unread.isEmpty)
    }

    private mutating func flush() {
        guard !isClosed else { return }
        unsent += context.output
        context.clearOutput()
        if !isStuck {
            sent += unsent
            unsent = []
        }
        perform(
            unsent.isEmpty
                ? http.written(hasUnread: !unread.isEmpty, context)
                : http.blocked(after: 0, context))
    }

    private mutating func perform(_ first: HTTPConnection.Action) {
        var action = first
        while true {
            switch action {
            case .none: return
            case .identify: break
            case .screen(let head):
                screened += 1
                if let response = screen(head) {
                    action = http.reject(with: response, context)
                    continue
                }
                guard let permit = permits.acquire(holding: nil) else {
                    action = http.reject(.overloaded, context)
                    continue
                }
                http.admitBody(permit)
            case .handle(let request, let sequence):
                requests.append(request)
                if let answer = handler(request) {
                    _ = http.offer(answer, sequence: sequence)
                } else {
                    waiting.append((request, sequence))
                }
            case .subscribe(let hub, let head, let first):
                http.subscribed(to: hub, head: head, first: first, context)
            case .sendFile: break
            case .endSending: hasEndedSending = true
            case .close(let isDropped, _):
                isClosed = true
                wasDropped = isDropped
                context.clearOutput()
                return
            }
            action = http.advance(context)
        }
    }
}
