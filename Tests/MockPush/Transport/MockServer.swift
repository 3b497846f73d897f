import CLinux
import Glibc
import WakeSystem

/// One thread with one epoll loop: accepts, reads, writes.
final class MockServer {
    private final class Peer {
        let descriptor: Int32
        let transport: Transport
        let connection: Connection
        /// The events that epoll reports.
        var watched: UInt32
        /// TLS reads ahead: more may wait in memory, where epoll does not see it.
        var mayRead = false
        /// The server name in its first message decides if it is answered.
        var awaitsHello = false
        /// Everything was sent; what still comes is ignored.
        var isDraining = false

        init(
            _ descriptor: Int32, _ transport: Transport, _ connection: Connection, watched: UInt32
        ) {
            self.descriptor = descriptor
            self.watched = watched
            self.transport = transport
            self.connection = connection
        }

        deinit { close(descriptor) }
    }

    /// A listening socket and its TLS.
    private struct ListeningSocket {
        let descriptor: Int32
        let tls: TLSServerSettings?
        let readsHello: Bool
    }

    private let service: HTTPService
    private let epoll: Int32
    private let sockets: [ListeningSocket]
    private let ending: Int32
    private var peers: [Int32: Peer] = [:]
    private var clock = MockServer.now()
    private var isEnding = false
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    init(_ service: HTTPService) throws {
        self.service = service
        // SIGPIPE is ignored as well: OpenSSL writes without MSG_NOSIGNAL.
        _ = linux_catch_termination()
        let ending = linux_eventfd_create()
        try SystemThread.start {
            linux_wait_for_termination()
            linux_eventfd_signal(ending)
        }
        self.ending = ending
        epoll = linux_epoll_create()
        sockets = try service.endpoints.map { endpoint in
            ListeningSocket(
                descriptor: unsafe linux_listen_tcp("127.0.0.1", endpoint.port, 1024),
                tls: try TLSServerSettings(endpoint), readsHello: endpoint.readsHello)
        }
        let (epoll, readable) = (epoll, readable)
        guard ending >= 0, epoll >= 0,
            linux_epoll_add(epoll, ending, readable, UInt64(ending)) == 0,
            sockets.allSatisfy({ socket in
                socket.descriptor >= 0
                    && linux_epoll_add(
                        epoll, socket.descriptor, readable, UInt64(socket.descriptor)) == 0
            })
        else {
            let worst = sockets.map(\.descriptor).min() ?? 0
            throw MockFailure("cannot listen: errno \(-min(ending, epoll, worst))")
        }
    }

    /// Of all endpoints, in their order.
    var ports: [Int] { sockets.map { Int(linux_bound_port($0.descriptor)) } }

    /// Serves until a signal ends it.
    /// - Returns: the report.
    func run() -> String {
        var events = [linux_event](repeating: linux_event(), count: 64)
        while !isEnding {
            wait(microseconds: timeout())
            let count = unsafe events.withUnsafeMutableBufferPointer { buffer -> Int32 in
                guard let start = buffer.baseAddress else { return 0 }
                return unsafe linux_epoll_wait(epoll, start, Int32(buffer.count), 0)
            }
            for event in events.prefix(Int(max(0, count))) { handle(event) }
            clock = Self.now()
            for peer in Array(peers.values) {
                read(peer)
                tick(peer)
            }
        }
        return service.summary()
    }

    private var readable: UInt32 { UInt32(linux_in.rawValue) }

    private func handle(_ event: linux_event) {
        let descriptor = Int32(truncatingIfNeeded: event.token)
        if let number = sockets.firstIndex(where: { $0.descriptor == descriptor }) {
            accept(number)
        } else if descriptor == ending {
            isEnding = true
        } else if let peer = peers[descriptor] {
            peer.mayRead = true
            // Nothing is read in silence: this alone tells that the far end is gone.
            let isGone = event.bits & UInt32(linux_hangup.rawValue | linux_error.rawValue) != 0
            if isGone, !peer.connection.isReading { forget(peer) }
        }
    }

    private func accept(_ number: Int) {
        let socket = sockets[number]
        var address = linux_peer()
        while case let descriptor = unsafe linux_accept(socket.descriptor, &address),
            descriptor >= 0
        {
            guard let transport = Transport(descriptor, socket.tls),
                linux_epoll_add(epoll, descriptor, readable, UInt64(descriptor)) == 0
            else {
                close(descriptor)
                continue
            }
            let peer = Peer(
                descriptor, transport, Connection(service, endpoint: number), watched: readable)
            peer.awaitsHello = socket.readsHello && socket.tls != nil
            peers[descriptor] = peer
        }
    }

    private func read(_ peer: Peer) {
        guard peer.mayRead else { return }
        if peer.isDraining { return drain(peer) }
        if peer.awaitsHello, !checkHello(peer) { return }
        let connection = peer.connection
        connection.clock = clock
        // As much as is there, but not for ever: others wait. And nothing from a peer that does
        // not read: memory stays bounded.
        for _ in 0..<8 where connection.isReading {
            switch peer.transport.receive(into: &buffer) {
            case .count(let count): connection.receive(buffer[..<count])
            case .wouldBlock:
                peer.mayRead = false
                return
            case .closed: return forget(peer)
            }
        }
    }

    /// Peeks at the first message of TLS; false while the connection is not to be served.
    private func checkHello(_ peer: Peer) -> Bool {
        switch ClientHello.peek(peer.descriptor) {
        case .needMore:
            peer.mayRead = false
            return false
        case .name(let name):
            peer.awaitsHello = false
            guard service.isSilent(name: name) else { return true }
            peer.connection.state = .silent
            return false
        case .none:
            peer.awaitsHello = false
            return true
        }
    }

    /// A socket that is closed with bytes unread resets the connection, and answers that were on
    /// their way are lost (RFC 9112 §9.6 tells the same of HTTP/1.1): the client closes first.
    private func drain(_ peer: Peer) {
        for _ in 0..<8 {
            switch peer.transport.receive(into: &buffer) {
            case .count: break
            case .wouldBlock:
                peer.mayRead = false
                return
            case .closed: return forget(peer)
            }
        }
    }

    /// Writes what is due; closes what has ended.
    private func tick(_ peer: Peer) {
        guard peers[peer.descriptor] === peer, !peer.isDraining else { return }
        let connection = peer.connection
        if connection.nextDue != nil || connection.state != .open {
            connection.clock = clock
            connection.wake()
        }
        if connection.state == .silent { return watch(peer, 0) }
        var sent = 0
        var output: [UInt8] = []
        swap(&output, &connection.output)
        while sent < output.count {
            let outcome = peer.transport.send(output.span.extracting(sent...))
            if outcome == .closed { return forget(peer) }
            guard case .count(let count) = outcome else { break }
            sent += count
        }
        if sent == output.count {
            watch(peer, readable)
            if connection.state == .ended {
                guard connection.isPolite else { return forget(peer) }
                peer.transport.finish()
                peer.isDraining = true
                peer.mayRead = true
            }
            output.removeAll(keepingCapacity: true)
        } else {
            watch(peer, peer.transport.isReady ? UInt32(linux_out.rawValue) : readable)
            output.removeFirst(sent)
        }
        swap(&output, &connection.output)
    }

    private func watch(_ peer: Peer, _ bits: UInt32) {
        if peer.watched == bits { return }
        peer.watched = bits
        _ = linux_epoll_remove(epoll, peer.descriptor)
        _ = linux_epoll_add(epoll, peer.descriptor, bits, UInt64(peer.descriptor))
    }

    private func forget(_ peer: Peer) {
        _ = linux_epoll_remove(epoll, peer.descriptor)
        peers[peer.descriptor] = nil
    }

    /// epoll_wait(2) counts in milliseconds, of which 50 have too few to lose one.
    private func wait(microseconds: UInt64?) {
        if microseconds == 0 { return }
        var set = fd_set()
        // One of the first descriptors of the process.
        precondition(epoll < 64, "a descriptor that is no bit of the first word")
        set.__fds_bits.0 = 1 << epoll
        guard let microseconds else {
            unsafe select(epoll + 1, &set, nil, nil, nil)
            return
        }
        var time = timeval(
            tv_sec: Int(microseconds / 1_000_000), tv_usec: Int(microseconds % 1_000_000))
        unsafe select(epoll + 1, &set, nil, nil, &time)
    }

    /// Microseconds until the next answer is due; nil: until something happens.
    private func timeout() -> UInt64? {
        var next = UInt64.max
        for peer in peers.values {
            if peer.connection.state == .silent { continue }
            if peer.mayRead, peer.connection.output.isEmpty { return 0 }
            if let due = peer.connection.nextDue { next = min(next, due) }
        }
        if next == .max { return nil }
        let now = Self.now().microseconds
        return next <= now ? 0 : next - now
    }

    private static func now() -> (microseconds: UInt64, seconds: Int) {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return (microseconds, time.tv_sec)
    }
}
