import Glibc
import Synchronization

@testable import WakeFetch

/// A TCP server on a free loopback port that misbehaves as told: each connection is handed to
/// `script` on a thread of its own, with nothing between the script and the socket.
final class LoopbackServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let accepted = Atomic(0)
    private let heads = Mutex<[[UInt8]]>([])

    convenience init(_ script: @escaping @Sendable (Peer) -> Void) {
        guard let listener = Sockets.listen() else { preconditionFailure("no free port") }
        self.init(listener, script)
    }

    /// At an address and port of its own; nil if they cannot be had.
    convenience init?(
        on host: String, port: UInt16 = 0, _ script: @escaping @Sendable (Peer) -> Void
    ) {
        guard let host = IPAddress(host), let listener = Sockets.listen(on: host, port: port)
        else { return nil }
        self.init(listener, script)
    }

    private init(
        _ listening: (socket: Int32, port: UInt16), _ script: @escaping @Sendable (Peer) -> Void
    ) {
        let (listener, port) = listening
        self.listener = listener
        self.port = port
        startThread { [self] in
            while let socket = Sockets.accept(listener) {
                let number = accepted.add(1, ordering: .relaxed).newValue
                startThread { [self] in
                    script(Peer(socket, number: number, server: self))
                }
            }
            // Closed here and not by `stop`: its number must not be reused while we still accept.
            Sockets.close(listener)
        }
    }

    /// The same answer to every request, keeping the connection.
    static func answering(_ response: [UInt8]) -> LoopbackServer {
        LoopbackServer { peer in
            while peer.readHead() != nil { peer.send(response) }
        }
    }

    static func answering(_ response: String) -> LoopbackServer {
        answering(Array(response.utf8))
    }

    /// Connections so far.
    var connections: Int { accepted.load(ordering: .relaxed) }

    /// Request heads so far, in the order they came.
    var requests: [[UInt8]] { heads.withLock { $0 } }

    var base: String { "http://127.0.0.1:\(port)" }

    func url(_ path: String = "/") throws -> FetchURL { try FetchURL(base + path) }

    /// No further connections; the scripts end when their peers do.
    func stop() {
        Sockets.shutDown(listener)
    }

    fileprivate func note(_ head: [UInt8]) {
        heads.withLock { $0.append(head) }
    }
}

/// One accepted connection. Closed when the script is done.
final class Peer {
    let number: Int
    private let socket: Int32
    private let server: LoopbackServer
    private var buffer: [UInt8] = []

    init(_ socket: Int32, number: Int, server: LoopbackServer) {
        self.socket = socket
        self.number = number
        self.server = server
    }

    deinit { Sockets.close(socket) }

    /// The server's.
    var port: UInt16 { server.port }

    /// The next request head with its empty line; nil when the client has gone.
    func readHead() -> [UInt8]? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let found = buffer.firstRange(of: end) {
                let head = Array(buffer[..<found.upperBound])
                buffer.removeFirst(head.count)
                server.note(head)
                return head
            }
            guard fill() else { return nil }
        }
    }

    func read(_ count: Int) -> [UInt8]? {
        while buffer.count < count {
            guard fill() else { return nil }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// False when the client has gone.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool { Sockets.send(socket, bytes) }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Bytes the kernel took without waiting for the client.
    func sendUntilFull(_ bytes: [UInt8]) -> Int { Sockets.sendUntilFull(socket, bytes) }

    /// Returns when the client closes, resets, or sends something more (false).
    @discardableResult
    func waitForClose() -> Bool { !fill() }

    /// Waits so long for the client to close; false if it did not. The pause of trickling servers.
    func isClosed(within milliseconds: Int32) -> Bool {
        Sockets.isReadable(socket, within: milliseconds) && !fill()
    }

    /// Ends with a reset instead of an orderly close.
    func reset() { Sockets.resetOnClose(socket) }

    private func fill() -> Bool {
        guard let bytes = Sockets.receive(socket), !bytes.isEmpty else { return false }
        buffer += bytes
        return true
    }
}
