import CLinux
import Glibc

/// `bench push-peer`: the far end of the push benchmark, as cheap as can be, so that what is
/// measured is the sender.
final class PushPeer {
    private static let help = """
        usage: bench push-peer [--certificate FILE --key FILE] [--port 0] [--latency MS]
            [--streams 1000]

        Answers every HTTP/2 request on 127.0.0.1 with 200 until SIGTERM, or the end of its
        standard input when that is a pipe, and prints how many there were.
        """

    private final class Line {
        let stream: PeerStream
        var connection: PeerConnection
        var input = [UInt8](repeating: 0, count: 65_536)
        var filled = 0
        var mayRead = false
        var isBlocked = false

        init(_ stream: PeerStream, _ connection: PeerConnection) {
            self.stream = stream
            self.connection = connection
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
    private let signals: Int32
    private let tls: PeerTLS?
    private let latency: UInt64
    private let streams: Int
    private var lines: [Int32: Line] = [:]
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
        var ending = sigset_t()
        unsafe sigemptyset(&ending)
        unsafe sigaddset(&ending, SIGTERM)
        unsafe sigprocmask(SIG_BLOCK, &ending, nil)
        signal(SIGPIPE, SIG_IGN)
        signals = unsafe linux_signalfd_create(&ending)
        epoll = linux_epoll_create()
        listener = unsafe linux_listen_tcp(
            "127.0.0.1", UInt16(clamping: options.number("port", default: 0)), 64)
        let readable = UInt32(linux_in.rawValue)
        guard listener >= 0, linux_epoll_add(epoll, listener, readable, UInt64(listener)) == 0,
            linux_epoll_add(epoll, signals, readable, UInt64(signals)) == 0
        else { return nil }
        // Whoever started us holds the other end; a file cannot be watched, and need not be.
        _ = linux_epoll_add(epoll, 0, 0, 0)
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
                case signals, 0: isEnding = true
                default:
                    lines[descriptor]?.mayRead = true
                    lines[descriptor]?.isBlocked = false
                }
            }
            let now = Stopwatch.monotonic() / 1000
            for line in Array(lines.values) { turn(line, now) }
        }
        for line in lines.values { requests += line.connection.requests }
    }

    private func accept() {
        var address = linux_peer()
        while case let descriptor = unsafe linux_accept(listener, &address), descriptor >= 0 {
            let bits = linux_in.rawValue | linux_out.rawValue | linux_edge.rawValue
            guard let stream = PeerStream(descriptor, tls),
                linux_epoll_add(epoll, descriptor, bits, UInt64(descriptor)) == 0
            else { continue }
            lines[descriptor] = Line(stream, PeerConnection(streams: streams, latency: latency))
        }
    }

    private func turn(_ line: Line, _ now: UInt64) {
        for _ in 0..<8 where line.mayRead && line.connection.output.count < 65_536 {
            switch line.stream.read(into: &line.input, from: line.filled) {
            case .count(let count):
                line.filled += count
                guard
                    let done = line.connection.receive(
                        line.input.span.extracting(0..<line.filled), now: now)
                else { return end(line) }
                line.filled -= done
                for place in 0..<line.filled { line.input[place] = line.input[done + place] }
            case .waits: line.mayRead = false
            case .ended: return end(line)
            }
        }
        if let due = line.connection.nextDue, due <= now { line.connection.wake(now: now) }
        write(line)
    }

    private func write(_ line: Line) {
        var output: [UInt8] = []
        swap(&output, &line.connection.output)
        var sent = 0
        while sent < output.count, !line.isBlocked {
            switch line.stream.write(output, from: sent) {
            case .count(let count): sent += count
            case .waits: line.isBlocked = true
            case .ended: return end(line)
            }
        }
        if sent == output.count {
            output.removeAll(keepingCapacity: true)
        } else {
            output.removeFirst(sent)
        }
        swap(&output, &line.connection.output)
    }

    private func end(_ line: Line) {
        requests += line.connection.requests
        _ = linux_epoll_remove(epoll, line.stream.descriptor)
        lines[line.stream.descriptor] = nil
    }

    /// Milliseconds, never too few.
    private func timeout() -> Int32 {
        if lines.values.contains(where: { $0.mayRead && !$0.isBlocked }) { return 0 }
        guard let next = lines.values.compactMap(\.connection.nextDue).min() else { return -1 }
        let now = Stopwatch.monotonic() / 1000
        return next <= now ? 0 : Int32(clamping: (next - now + 999) / 1000)
    }
}
