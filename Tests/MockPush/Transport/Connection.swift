import WakePush

/// One protocol on a connection.
protocol ProtocolHandler: AnyObject {
    /// Requests that wait for their answer or their end.
    var openStreams: Int { get }
    /// The time of the next answer, microseconds of the clock; nil while the client is waited for.
    var nextDue: UInt64? { get }
    /// Handles what is complete; returns the number of bytes handled.
    func receive(_ bytes: Span<UInt8>, _ connection: Connection) -> Int
    /// Writes what is due.
    func flush(_ connection: Connection)
}

/// The server's side of one connection, without a socket: bytes in, bytes out. The first bytes
/// decide the version of HTTP (RFC 9113 §3.4).
final class Connection {
    enum State: Equatable {
        case open
        /// GOAWAY was sent: later streams are ignored.
        case leaving(lastStream: UInt32)
        /// Neither reads nor writes.
        case silent
        /// To be closed once `output` is sent.
        case ended
    }

    var output: [UInt8] = []
    var state = State.open
    /// Ends after every request is answered.
    private(set) var isPolite = false
    /// Of a clock that never goes back, and since 1970.
    var clock: (microseconds: UInt64, seconds: Int) = (0, 0)

    private let service: HTTPService
    /// The common part of all requests.
    private var blank = HTTPRequest()
    private var handler: (any ProtocolHandler)?
    /// What waits for the rest of a message.
    private var input: [UInt8] = []

    /// Bytes of output at most: bounds memory for a client that does not read.
    private static let outputLimit = 131_072
    private static let inputLimit = 65_536

    init(_ service: HTTPService, endpoint: Int) {
        self.service = service
        service.counters.connections += 1
        blank.endpoint = endpoint
        blank.connection = service.counters.connections
        blank.isSecure = service.endpoints[endpoint].identity != nil
    }

    /// True while input is to be read.
    var isReading: Bool {
        switch state {
        case .open, .leaving: output.count < 2 * Self.outputLimit
        case .silent, .ended: false
        }
    }

    var openStreams: Int { handler?.openStreams ?? 0 }

    /// Bytes of bodies that may be written now.
    var room: Int { Self.outputLimit - output.count }

    var nextDue: UInt64? {
        guard room > 0, let due = handler?.nextDue else { return nil }
        // A file that holds answers back is looked for fifty times a second.
        guard service.common.hold != nil, due <= clock.microseconds else { return due }
        return clock.microseconds + 20_000
    }

    func receive(_ bytes: ArraySlice<UInt8>) {
        input += bytes
        receive()
    }

    private func receive() {
        guard isReading else { return }
        if handler == nil { handler = choose() }
        guard let handler else { return }
        let done = handler.receive(input.span, self)
        input.removeFirst(done)
        if input.count > Self.inputLimit { fail("head") }
    }

    func wake() {
        guard let handler, state != .ended, state != .silent else { return }
        handler.flush(self)
        // What came while an answer was due has waited.
        if !input.isEmpty, handler.openStreams == 0 { receive() }
    }

    func fail(_ what: String) {
        service.counters.violations[what, default: 0] += 1
        state = .ended
    }

    func endPolitely() {
        state = .ended
        isPolite = true
    }

    private func choose() -> (any ProtocolHandler)? {
        let preface = FrameWriter.preface
        let count = min(input.count, preface.count)
        guard input[..<count].elementsEqual(preface[..<count]) else {
            return HTTP1Handler(service, blank)
        }
        guard count == preface.count else { return nil }
        input.removeFirst(count)
        return HTTP2Handler(service, blank, self)
    }
}

/// A port and its TLS.
struct Endpoint {
    /// Its name in the line that prints the port.
    var name: String
    var port: UInt16
    /// PEM files; nil: without TLS.
    var identity: (certificate: String, key: String)?
    /// ALPN selects HTTP/2.
    var selectsHTTP2 = true
    /// The TLS server name is read before the handshake.
    var readsHello = false
}

/// Why the mock cannot run.
struct MockFailure: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
