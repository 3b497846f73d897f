import CLinux
import CRuntime
import Glibc
import Synchronization
import TestSupport
import WakeSystem

@testable import WakePush

/// A small HTTP/2 server on loopback, one blocking thread a connection, that does what `answer`
/// says to each request.
final class EngineServer: Sendable {
    enum Reply {
        case status(UInt16)
        /// With a body, and `retry-after` in seconds unless 0.
        case answer(UInt16, retryAfter: Int = 0, body: [UInt8])
        case reset(UInt32)
        /// Nothing, ever.
        case silence
        /// A goodbye that covers everything up to here, then the answers before it, then the end.
        case goAway(code: UInt32 = 0, debug: String = "")
        /// The end of the connection.
        case hangUp
        /// From here on this connection neither reads nor writes, until the far end leaves.
        case stall
    }

    /// How a connection ends before TLS has begun.
    enum HangUp: CaseIterable {
        /// With what the client sent unread: a reset.
        case reset
        /// With everything read: an orderly end.
        case end
        /// With a TLS alert, internal_error (RFC 8446 §6).
        case alert
    }

    /// A certificate for `localhost`, and the files of its authority.
    struct TLS {
        let chain: String
        let key: String
        private let authority: TestAuthority
        var speaksHTTP2 = true
        /// Nothing newer than TLS 1.2.
        var isOld = false
        /// Takes little at a time: the far end must wait.
        var isNarrow = false

        /// - Parameter days: 0 for a certificate that has expired.
        init(days: Int = 1) throws {
            authority = try TestAuthority()
            (chain, key) = try authority.issue(for: "localhost", days: days)
        }

        /// The certificate to trust.
        var trusted: String { authority.certificate }
    }

    private struct Seen {
        var requests = 0
        var paths: [[UInt8]: Int] = [:]
        var credentials: [[UInt8]] = []
        var expirations: [Int?] = []
        var bodies: [[UInt8]] = []
        var connections = 0
        var bytes = 0
    }

    let port: UInt16
    private let listener: Int32
    private let settings: [(id: UInt16, value: UInt32)]
    private let answer: @Sendable (Int, [UInt8]) -> Reply
    private let tls: TLS?
    /// So many connections are closed as soon as they are made.
    private let dropped: Int
    /// These end before TLS, the first being number 1.
    private let hangUps: (connections: ClosedRange<Int>, how: HangUp)?
    private let seen = Mutex(Seen())
    private let sockets = Mutex<Set<Int32>>([])

    /// - Parameter answer: is given the number of the request, from 1 on over all connections.
    convenience init(
        settings: [(id: UInt16, value: UInt32)] = [], tls: TLS? = nil, port: UInt16 = 0,
        dropped: Int = 0, hangUps: (connections: ClosedRange<Int>, how: HangUp)? = nil,
        answer: @escaping @Sendable (Int) -> Reply = { _ in .status(200) }
    ) throws {
        try self.init(
            settings: settings, tls: tls, port: port, dropped: dropped, hangUps: hangUps
        ) { number, _ in
            answer(number)
        }
    }

    /// - Parameter reply: is given the request's body as well.
    init(
        settings: [(id: UInt16, value: UInt32)] = [], tls: TLS? = nil, port: UInt16 = 0,
        dropped: Int = 0, hangUps: (connections: ClosedRange<Int>, how: HangUp)? = nil,
        reply: @escaping @Sendable (Int, [UInt8]) -> Reply
    ) throws {
        listener = unsafe linux_listen_tcp("127.0.0.1", port, 16)
        precondition(listener >= 0, "loopback can be listened on")
        self.port = UInt16(linux_bound_port(listener))
        self.dropped = dropped
        self.hangUps = hangUps
        self.settings = settings
        self.tls = tls
        answer = reply
        try SystemThread.start { [self] in accept() }
    }

    var requests: Int { seen.withLock { $0.requests } }
    var paths: [[UInt8]: Int] { seen.withLock { $0.paths } }
    /// The value of `authorization` in each request.
    var credentials: [[UInt8]] { seen.withLock { $0.credentials } }
    /// The value of `apns-expiration` in each request.
    var expirations: [Int?] { seen.withLock { $0.expirations } }
    /// Of each request, in the order in which they ended.
    var bodies: [[UInt8]] { seen.withLock { $0.bodies } }
    /// Everything that clients sent, after TLS.
    var bytes: Int { seen.withLock { $0.bytes } }
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
            let number = seen.withLock { seen in
                seen.connections += 1
                return seen.connections
            }
            do {
                try SystemThread.start { [self] in serve(socket, number) }
            } catch {
                _ = close(socket)
            }
        }
    }

    private func serve(_ socket: Int32, _ number: Int) {
        _ = sockets.withLock { $0.insert(socket) }
        defer {
            _ = sockets.withLock { $0.remove(socket) }
            _ = close(socket)
        }
        if let hangUps, hangUps.connections.contains(number) {
            return Self.hangUp(socket, hangUps.how)
        }
        guard let wire = EngineWire(socket, tls), number > dropped else { return }
        var bytes: [UInt8] = []
        var out: [UInt8] = []
        FrameWriter.settings(settings, into: &out)
        guard wire.write(out) else { return }
        var decoder = HPACKDecoder()
        var open: [UInt32: [UInt8]] = [:]
        var hasPreface = false
        while let more = wire.read() {
            bytes += more
            seen.withLock { $0.bytes += more.count }
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
                isOver = reply(to: frame, bytes, &decoder, &open, &out, on: socket)
                position = end
            }
            bytes.removeFirst(position)
            guard wire.write(out), !isOver else { return }
        }
    }

    private static func hangUp(_ socket: Int32, _ how: HangUp) {
        var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&ready, 1, 120_000)
        guard how != .reset else { return }
        var hello = [UInt8](repeating: 0, count: 16_384)
        _ = unsafe recv(socket, &hello, hello.count, 0)
        guard how == .alert else { return }
        let alert: [UInt8] = [21, 3, 3, 0, 2, 2, 80]
        _ = unsafe send(socket, alert, alert.count, Int32(MSG_NOSIGNAL))
    }

    private static func value(_ name: String, _ list: HeaderList) -> [UInt8] {
        let index = (0..<list.count).first { list.name($0).elementsEqual(name.utf8) }
        return index.map { Array(list.value($0)) } ?? []
    }

    /// - Returns: whether the connection is over.
    private func reply(
        to frame: Frame, _ bytes: [UInt8], _ decoder: inout HPACKDecoder,
        _ open: inout [UInt32: [UInt8]], _ out: inout [UInt8], on socket: Int32
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
            let path = Self.value(":path", list)
            let credential = Self.value("authorization", list)
            let expiration = Int(
                String(decoding: Self.value("apns-expiration", list), as: UTF8.self))
            seen.withLock { seen in
                seen.paths[path, default: 0] += 1
                seen.credentials.append(credential)
                seen.expirations.append(expiration)
            }
            if ends { ended = stream }
        case .data(let stream, let payload, let flow, let ends):
            open[stream, default: []] += bytes[payload]
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
        let body = open.removeValue(forKey: stream) ?? []
        let number = seen.withLock { seen in
            seen.requests += 1
            seen.bodies.append(body)
            return seen.requests
        }
        return act(answer(number, body), stream, &out, on: socket)
    }

    /// - Returns: whether the connection is over.
    private func act(
        _ reply: Reply, _ stream: UInt32, _ out: inout [UInt8], on socket: Int32
    ) -> Bool {
        switch reply {
        case .status(let status):
            var block: [UInt8] = []
            HPACKWriter.literalOrIndex(":status", String(status), into: &block)
            FrameWriter.headers(stream: stream, block: block, ends: true, into: &out)
        case .answer(let status, let retryAfter, let body):
            var block: [UInt8] = []
            HPACKWriter.literalOrIndex(":status", String(status), into: &block)
            if retryAfter > 0 {
                HPACKWriter.literalOrIndex("retry-after", String(retryAfter), into: &block)
            }
            FrameWriter.headers(stream: stream, block: block, ends: false, into: &out)
            FrameWriter.head(
                length: body.count, kind: FrameKind.data, flags: FrameFlag.endStream,
                stream: stream, into: &out)
            out += body
        case .reset(let code): FrameWriter.reset(stream: stream, code: code, into: &out)
        case .silence: break
        case .hangUp: return true
        case .stall:
            var gone = pollfd(fd: socket, events: Int16(linux_read_hangup.rawValue), revents: 0)
            _ = unsafe poll(&gone, 1, 600_000)
            return true
        case .goAway(let code, let debug):
            FrameWriter.goAway(
                lastStream: max(2, stream) - 2, code: code, debug: Array(debug.utf8), into: &out)
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
        if tls.isNarrow {
            var bytes: Int32 = 262_144
            unsafe setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, 4)
        }
        var library = unsafe crt_ssl(table: nil)
        guard unsafe crt_ssl_load(nil, &library) == CRT_LOADED,
            let context = unsafe crt_ssl_context_new(library, true),
            unsafe crt_ssl_context_identify(library, context, tls.chain, tls.key)
        else { return nil }
        if tls.isOld {
            // openssl/ssl.h: SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_2_VERSION
            typealias Control =
                @convention(c) (
                    UnsafeMutableRawPointer, Int32, Int, UnsafeMutableRawPointer?
                ) -> Int
            guard let handle = unsafe dlopen("libssl.so.3", RTLD_NOW),
                let symbol = unsafe dlsym(handle, "SSL_CTX_ctrl"),
                unsafe unsafeBitCast(symbol, to: Control.self)(context, 124, 0x0303, nil) == 1
            else { return nil }
        }
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
