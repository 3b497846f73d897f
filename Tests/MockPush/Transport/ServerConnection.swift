/// The server's side of one connection, without a socket: bytes in, bytes out.
class ServerConnection {
    enum State: Equatable {
        case open
        /// GOAWAY was sent: later streams are ignored.
        case leaving(lastStream: UInt32)
        /// Neither reads nor writes until then, microseconds.
        case silent(until: UInt64)
        /// To be closed once `output` is sent.
        case ended
    }

    /// The read buffer; its first `filled` bytes wait for the rest of a message.
    final var input = [UInt8](repeating: 0, count: 65_536)
    final var filled = 0
    final var output: [UInt8] = []
    final var state = State.open
    /// Ends after every request is answered.
    final var isPolite = false
    /// Of a clock that never goes back, and since 1970.
    final var clock: (microseconds: UInt64, seconds: Int) = (0, 0)

    /// True while input is to be read.
    final var isReading: Bool {
        switch state {
        case .open, .leaving: true
        case .silent, .ended: false
        }
    }

    /// Requests that wait for their answer or their end.
    var openStreams: Int { 0 }

    /// The time of the next answer, microseconds of the clock; nil while the client is waited for.
    var nextDue: UInt64? { nil }

    /// - Parameter count: bytes that were put into `input` behind the `filled` ones.
    func receive(_ count: Int) {}

    /// Writes what is due, and ends a silence.
    func wake() {}
}

/// One of the push services.
protocol Service: AnyObject {
    var endpoints: [Endpoint] { get }
    /// The expected number of deliveries has come.
    var isAtGoal: Bool { get }
    /// True for TLS server names whose handshake is never answered.
    func isSilent(name: String) -> Bool
    func connection(at endpoint: Int) -> ServerConnection
    /// The report as one line.
    func summary() -> String
}

extension Service {
    func isSilent(name: String) -> Bool { false }
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
