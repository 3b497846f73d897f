import CLinux
import CRuntime
import Glibc
import Synchronization
import TestSupport

@testable import WakePush

/// A small HTTP/2 server on loopback, one blocking thread a connection, that does what `answer`
/// says to each request.
final class EngineServer: Sendable {
    enum Reply {
        case status(UInt16)
        case reset(UInt32)
        /// Nothing, ever.
        case silence
        /// A goodbye that covers everything up to here, then the answers before it, then the end.
        case goAway
    }

    struct TLS {
        var chain: String
        var key: String
        var speaksHTTP2 = true
        /// Holds both files: it lives as long as they are needed.
        var folder: TemporaryDirectory?
    }

    let port: UInt16
    private let listener: Int32
    private let settings: [(id: UInt16, value: UInt32)]
    private let answer: @Sendable (Int) -> Reply
    private let tls: TLS?
    private let seen = Mutex<(requests: Int, paths: [[UInt8]: Int], connections: Int)>((0, [:], 0))
    private let sockets = Mutex<Set<Int32>>([])

    /// - Parameter answer: is given the number of the request, from 1 on over all connections.
    init(
        settings: [(id: UInt16, value: UInt32)] = [], tls: TLS? = nil,
        answer: @escaping @Sendable (Int) -> Reply = { _ in .status(200) }
    ) throws {
        listener = unsafe linux_listen_tcp("127.0.0.1", 0, 16)
        precondition(listener >= 0, "loopback can be listened on")
        port = UInt16(linux_bound_port(listener))
        self.settings = settings
        self.tls = tls
        self.answer = answer
        try EngineThread.start { [self] in accept() }
    }

    var requests: Int { seen.withLock { $0.requests } }
    var paths: [[UInt8]: Int] { seen.withLock { $0.paths } }
    var connections: Int { seen.withLock { $0.connections } }

    func stop() { _ = shutdown(listener, Int32(SHUT_RDWR)) }

    /// Closes every connection there is.
    func hangUp() {
        sockets.withLock { for socket in $0 { _ = shutdown(socket, Int32(SHUT_RDWR)) } }
    }

    private func accept() {
        while true {
            var ready = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&ready, 1, -1)
            var peer = linux_peer()
            let socket = unsafe linux_accept(listener, &peer)
            guard socket >= 0 else {
                if socket == -EAGAIN { continue }
                _ = close(listener)
                return
            }
            _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) & ~O_NONBLOCK)
            seen.withLock { $0.connections += 1 }
            do {
                try EngineThread.start { [self] in serve(socket) }
            } catch {
                _ = close(socket)
            }
        }
    }

    private func serve(_ socket: Int32) {
        _ = sockets.withLock { $0.insert(socket) }
        defer {
            _ = sockets.withLock { $0.remove(socket) }
            _ = close(socket)
        }
        guard let wire = EngineWire(socket, tls) else { return }
        var bytes: [UInt8] = []
        var out: [UInt8] = []
        FrameWriter.settings(settings, into: &out)
        guard wire.write(out) else { return }
        var decoder = HPACKDecoder()
        var hasPreface = false
        while let more = wire.read() {
            bytes += more
            if !hasPreface {
                guard bytes.count >= FrameWriter.preface.count else { continue }
                bytes.removeFirst(FrameWriter.preface.count)
                hasPreface = true
            }
            out = []
            var position = 0
            var isOver = false
            while !isOver,
                case .complete(let frame, let end) = FrameReader.read(bytes.span, at: position)
            {
                isOver = reply(to: frame, bytes, &decoder, &out)
                position = end
            }
            bytes.removeFirst(position)
            guard wire.write(out), !isOver else { return }
        }
    }

    /// - Returns: whether the connection is over.
    private func reply(
        to frame: Frame, _ bytes: [UInt8], _ decoder: inout HPACKDecoder, _ out: inout [UInt8]
    ) -> Bool {
        var ended: UInt32?
        switch frame {
        case .settings: FrameWriter.settingsAcknowledgement(into: &out)
        case .ping(let opaque): FrameWriter.ping(opaque, acknowledges: true, into: &out)
        case .headers(let stream, let fragment, _, let ends):
            var list = HeaderList()
            do {
                try decoder.decode(bytes.span.extracting(fragment), into: &list)
            } catch {
                return true
            }
            let path = Array(list.value(2))
            seen.withLock { $0.paths[path, default: 0] += 1 }
            if ends { ended = stream }
        case .data(let stream, _, let flow, let ends):
            if flow > 0 {
                FrameWriter.windowUpdate(stream: 0, increment: UInt32(flow), into: &out)
                if !ends {
                    FrameWriter.windowUpdate(stream: stream, increment: UInt32(flow), into: &out)
                }
            }
            if ends { ended = stream }
        case .goAway: return true
        default: break
        }
        guard let stream = ended else { return false }
        let number = seen.withLock { seen in
            seen.requests += 1
            return seen.requests
        }
        switch answer(number) {
        case .status(let status):
            var block: [UInt8] = []
            HPACKWriter.literalOrIndex(":status", String(status), into: &block)
            FrameWriter.headers(stream: stream, block: block, ends: true, into: &out)
        case .reset(let code): FrameWriter.reset(stream: stream, code: code, into: &out)
        case .silence: break
        case .goAway:
            FrameWriter.goAway(lastStream: stream - 2, code: 0, into: &out)
            return true
        }
        return false
    }
}

/// The server's side of a transport; blocking.
@safe
final class EngineWire {
    private let socket: Int32
    private var library: crt_ssl?
    private var connection: UnsafeMutableRawPointer?

    init?(_ socket: Int32, _ tls: EngineServer.TLS?) {
        self.socket = socket
        guard let tls else { return }
        var library = unsafe crt_ssl(table: nil)
        guard unsafe crt_ssl_load(nil, &library) == CRT_LOADED,
            let context = unsafe crt_ssl_context_new(library, true),
            unsafe crt_ssl_context_identify(library, context, tls.chain, tls.key)
        else { return nil }
        if tls.speaksHTTP2 { unsafe crt_ssl_context_select_h2(library, context, false) }
        unsafe self.connection = unsafe crt_ssl_new(library, context, socket, true, nil)
        unsafe crt_ssl_context_free(library, context)
        unsafe self.library = unsafe library
        guard let connection = unsafe connection,
            unsafe crt_ssl_handshake(library, connection) == 1
        else { return nil }
    }

    deinit {
        if let library = unsafe library, let connection = unsafe connection {
            unsafe crt_ssl_free(library, connection)
        }
    }

    func read() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe bytes.withUnsafeMutableBytes { buffer -> Int in
            guard let base = buffer.baseAddress else { return 0 }
            if let library = unsafe library, let connection = unsafe connection {
                return Int(unsafe crt_ssl_read(library, connection, base, buffer.count))
            }
            return unsafe recv(socket, base, buffer.count, 0)
        }
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer -> Int in
                guard let base = buffer.baseAddress else { return 0 }
                let rest = unsafe base + sent
                if let library = unsafe library, let connection = unsafe connection {
                    return Int(
                        unsafe crt_ssl_write(library, connection, rest, buffer.count - sent))
                }
                return unsafe send(
                    socket, rest, buffer.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}
