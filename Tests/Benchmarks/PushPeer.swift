import CLinux
import Glibc
import WakeSystem

/// `bench push-peer`: the far end of the push benchmark, as cheap as can be, so that what is
/// measured is the sender.
final class PushPeer {
    private static let help = """
        usage: bench push-peer [--certificate FILE --key FILE] [--port 0] [--latency MS]
            [--streams 1000]

        Answers every HTTP/2 request on 127.0.0.1 with 200 until SIGTERM, or the end of its
        standard input when that is a pipe, and prints how many there were.
        """

    private final class Connection {
        let stream: PeerStream
        var state: PeerConnection
        var input = [UInt8](repeating: 0, count: 65_536)
        var filled = 0
        var mayRead = false
        var isBlocked = false

        init(_ stream: PeerStream, _ state: PeerConnection) {
            self.stream = stream
            self.state = state
        }
    }

    static func run(_ arguments: [String]) -> Int32 {
        let options = Options(
            arguments, known: ["certificate", "key", "port", "latency", "streams"])
        guard options.unknown == nil, let peer = PushPeer(options) else {
            print(help)
            return 2
        }
        print("listening on port \(linux_bound_port(peer.listener))")
        fflush(nil)
        peer.serve()
        print("requests \(peer.requests)")
        return 0
    }

    private let listener: Int32
    private let epoll: Int32
    private let ending: Int32
    private let tls: PeerTLS?
    private let latency: UInt64
    private let streams: Int
    private var connections: [Int32: Connection] = [:]
    private var requests = 0
    private var isEnding = false

    private init?(_ options: Options) {
        if let certificate = options["certificate"], let key = options["key"] {
            guard let tls = PeerTLS(certificate: certificate, key: key) else { return nil }
            self.tls = tls
        } else {
            tls = nil
        }
        latency = UInt64(max(0, options.number("latency", default: 0))) * 1000
        streams = options.number("streams", default: 1000)
        _ = linux_catch_termination()
        let ending = linux_eventfd_create()
        self.ending = ending
        epoll = linux_epoll_create()
        listener = unsafe linux_listen_tcp(
            "127.0.0.1", UInt16(clamping: options.number("port", default: 0)), 64)
        let readable = UInt32(linux_in.rawValue)
        guard listener >= 0, linux_epoll_add(epoll, listener, readable, UInt64(listener)) == 0,
            linux_epoll_add(epoll, ending, readable, UInt64(ending)) == 0,
            Self.signalsTermination(ending)
        else { return nil }
        // Whoever started us holds the other end; a file cannot be watched, and need not be.
        _ = linux_epoll_add(epoll, 0, 0, 0)
    }

    private static func signalsTermination(_ eventfd: Int32) -> Bool {
        do throws(SystemError) {
            try SystemThread.start {
                linux_wait_for_termination()
                linux_eventfd_signal(eventfd)
            }
            return true
        } catch {
            return false
        }
    }

    private func serve() {
        var events = [linux_event](repeating: linux_event(), count: 64)
        while !isEnding {
            let count = unsafe events.withUnsafeMutableBufferPointer { buffer -> Int32 in
                guard let start = buffer.baseAddress else { return 0 }
                return unsafe linux_epoll_wait(epoll, start, Int32(buffer.count), timeout())
            }
            for event in events.prefix(Int(max(0, count))) {
                let descriptor = Int32(truncatingIfNeeded: event.token)
                switch descriptor {
                case listener: accept()
                case ending, 0: isEnding = true
                default:
                    connections[descriptor]?.mayRead = true
                    connections[descriptor]?.isBlocked = false
                }
            }
            let now = Stopwatch.monotonic() / 1000
            for connection in Array(connections.values) { serve(connection, now) }
        }
        for connection in connections.values { requests += connection.state.requests }
    }

    private func accept() {
        var address = linux_peer()
        while case let descriptor = unsafe linux_accept(listener, &address), descriptor >= 0 {
            let bits = linux_in.rawValue | linux_out.rawValue | linux_edge.rawValue
            guard let stream = PeerStream(descriptor, tls),
                linux_epoll_add(epoll, descriptor, bits, UInt64(descriptor)) == 0
            else { continue }
            connections[descriptor] = Connection(
                stream, PeerConnection(streams: streams, latency: latency))
        }
    }

    private func serve(_ connection: Connection, _ now: UInt64) {
        for _ in 0..<8 where connection.mayRead && connection.state.output.count < 65_536 {
            switch connection.stream.read(into: &connection.input, from: connection.filled) {
            case .count(let count):
                connection.filled += count
                guard
                    let done = connection.state.receive(
                        connection.input.span.extracting(0..<connection.filled), now: now)
                else { return end(connection) }
                connection.filled -= done
                for place in 0..<connection.filled {
                    connection.input[place] = connection.input[done + place]
                }
            case .waits: connection.mayRead = false
            case .ended: return end(connection)
            }
        }
        if let due = connection.state.nextDue, due <= now { connection.state.wake(now: now) }
        write(connection)
    }

    private func write(_ connection: Connection) {
        var output: [UInt8] = []
        swap(&output, &connection.state.output)
        var sent = 0
        while sent < output.count, !connection.isBlocked {
            switch connection.stream.write(output, from: sent) {
            case .count(let count): sent += count
            case .waits: connection.isBlocked = true
            case .ended: return end(connection)
            }
        }
        if sent == output.count {
            output.removeAll(keepingCapacity: true)
        } else {
            output.removeFirst(sent)
        }
        swap(&output, &connection.state.output)
    }

    private func end(_ connection: Connection) {
        requests += connection.state.requests
        _ = linux_epoll_remove(epoll, connection.stream.descriptor)
        connections[connection.stream.descriptor] = nil
    }

    /// Milliseconds, never too few.
    private func timeout() -> Int32 {
        if connections.values.contains(where: { $0.mayRead && !$0.isBlocked }) { return 0 }
        guard let next = connections.values.compactMap(\.state.nextDue).min() else { return -1 }
        let now = Stopwatch.monotonic() / 1000
        return next <= now ? 0 : Int32(clamping: (next - now + 999) / 1000)
    }
}
