import WakePush

/// One protocol on a connection.
protocol ProtocolHandler: AnyObject {
    var openStreams: Int { get }
    /// See ``ServerConnection``.
    func nextDue(room: Int) -> UInt64?
    /// Handles what is complete of `count` bytes; returns the number of bytes handled.
    func receive(_ bytes: Span<UInt8>, count: Int, _ connection: ServerConnection) -> Int
    /// Writes what is due.
    func flush(_ connection: ServerConnection)
}

/// A connection whose first bytes decide the version of HTTP (RFC 9113 §3.4).
final class HTTPServerConnection: ServerConnection {
    /// Bytes of output at most: bounds memory for a client that does not read.
    static let outputLimit = 131_072

    private let service: HTTPService
    /// The common part of all requests.
    private var blank = HTTPRequest()
    private var handler: (any ProtocolHandler)?

    init(_ service: HTTPService, endpoint: Int) {
        self.service = service
        super.init()
        service.counters.connections += 1
        blank.endpoint = endpoint
        blank.connection = service.counters.connections
        blank.isSecure = service.endpoints[endpoint].identity != nil
    }

    override var openStreams: Int { handler?.openStreams ?? 0 }

    override var nextDue: UInt64? {
        let room = Self.outputLimit - output.count
        return room > 0 ? handler?.nextDue(room: room) : nil
    }

    override func receive(_ count: Int) {
        if state == .ended { return }
        filled += count
        // Moved out while it is read, to avoid a copy.
        var bytes: [UInt8] = []
        swap(&bytes, &input)
        if handler == nil { handler = choose(bytes) }
        if let handler {
            let done = handler.receive(bytes.span, count: filled, self)
            Bytes.moveToFront(&bytes, done..<filled)
            filled -= done
            if filled == bytes.count { fail("head") }
        }
        swap(&bytes, &input)
    }

    override func wake() {
        if case .silent(let until) = state {
            guard clock.microseconds >= until else { return }
            state = .open
            receive(0)
        }
        guard state != .ended, let handler else { return }
        handler.flush(self)
        // What came while an answer was due has waited.
        if filled > 0, handler.openStreams == 0, isReading { receive(0) }
    }

    func fail(_ what: String) {
        service.counters.violations[what, default: 0] += 1
        state = .ended
    }

    private func choose(_ bytes: [UInt8]) -> (any ProtocolHandler)? {
        let preface = FrameWriter.preface
        let count = min(filled, preface.count)
        guard bytes[..<count].elementsEqual(preface[..<count]) else {
            return HTTP1Handler(service, blank)
        }
        if filled < preface.count { return nil }
        return HTTP2Handler(service, blank, self)
    }
}
