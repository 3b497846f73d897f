/// The server's side of one connection, without a socket: bytes in, bytes out.
class Conversation {
    /// What becomes of the connection.
    enum State: Equatable {
        case open
        /// GOAWAY was sent: later streams are not looked at.
        case leaving(lastStream: UInt32)
        /// Says and hears nothing until then, microseconds.
        case silent(until: UInt64)
        /// To be closed once `output` is gone.
        case ended
    }

    /// What is read is put here, behind the `filled` bytes that wait for the rest of their kind.
    final var input = [UInt8](repeating: 0, count: 65_536)
    final var filled = 0
    final var output: [UInt8] = []
    final var state = State.open
    /// It ends after everything that was looked at is answered.
    final var isPolite = false
    /// Of a clock that never goes back, and since 1970.
    final var clock: (microseconds: UInt64, seconds: Int) = (0, 0)

    /// Whether it is to be given what comes.
    final var isReading: Bool {
        switch state {
        case .open, .leaving: true
        case .silent, .ended: false
        }
    }

    /// Requests that wait for their answer or their end.
    var openStreams: Int { 0 }

    /// When the next answer is due, microseconds of the clock; nil while only the far end can bring
    /// something about.
    var nextDue: UInt64? { nil }

    /// - Parameter count: bytes that were put into `input` behind the `filled` ones.
    func receive(_ count: Int) {}

    /// Time has passed: writes what is due, and ends a silence.
    func wake() {}
}

/// What a server serves: one of the push services.
protocol Service: AnyObject {
    /// Where it wants to be reached, and how.
    var places: [Place] { get }
    /// Nothing more is waited for.
    var isAtGoal: Bool { get }
    /// The names of TLS whose connections fall silent before they are secure.
    func isSilent(name: String) -> Bool
    func converse(at place: Int) -> Conversation
    /// The report as one line.
    func summary() -> String
}

extension Service {
    func isSilent(name: String) -> Bool { false }
}

/// One port.
struct Place {
    /// What the line that tells the port calls it.
    var name: String
    var port: UInt16
    /// PEM files; nil: without TLS.
    var identity: (certificate: String, key: String)?
    /// Whether ALPN selects HTTP/2.
    var selectsHTTP2 = true
    /// Whether the name of TLS is looked at before anything is said.
    var readsHello = false
}
