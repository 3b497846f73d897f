private import Foundation
private import Synchronization

/// A TCP server on a free loopback port with nothing between a test's script and the socket: each
/// connection is handed to the script on a thread of its own, and closed when the script returns.
package final class WireServer: Sendable {
    /// Never handed to another server while this one exists, also while it refuses.
    package let port: UInt16
    /// Bound and never listening: keeps the port.
    private let place: Int32
    private let listener = Mutex<Int32?>(nil)
    private let peers = Mutex<Set<Int32>>([])
    private let script: @Sendable (LoopbackClient) -> Void

    /// A free port, kept for a server that sets SO_REUSEADDR as long as this value lives.
    package static func reservedPort() throws -> WireServer {
        let server = try WireServer { _ in }
        server.refuse()
        return server
    }

    /// Accepts connections at once.
    package init(_ script: @escaping @Sendable (LoopbackClient) -> Void) throws {
        self.script = script
        let place = try Self.bound(to: 0)
        self.place = place
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(place, $0, &size)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        try admit()
    }

    deinit { close(place) }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// Connections are accepted from now on. Until `refuse`, the server keeps itself alive.
    package func admit() throws {
        let descriptor = try Self.bound(to: port)
        guard listen(descriptor, 128) == 0 else { throw TestFailure("listen: errno \(errno)") }
        listener.withLock { $0 = descriptor }
        Thread.detachNewThread { self.serve(descriptor) }
    }

    /// Connections are refused from now on, and the open ones cut.
    package func refuse() {
        listener.withLock { listener in
            // Its thread closes it: until then the number belongs to nobody else.
            if let descriptor = listener { shutdown(descriptor, Int32(SHUT_RDWR)) }
            listener = nil
        }
        peers.withLock { for descriptor in $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    private func serve(_ listener: Int32) {
        while true {
            let descriptor = accept(listener, nil, nil)
            if descriptor < 0, errno == EINTR || errno == ECONNABORTED { continue }
            guard descriptor >= 0 else { break }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            // Accepted while `refuse` cut the others: it is cut as well.
            let isServed = peers.withLock { peers in
                guard self.listener.withLock({ $0 == listener }) else { return false }
                return peers.insert(descriptor).inserted
            }
            guard isServed else {
                shutdown(descriptor, Int32(SHUT_RDWR))
                close(descriptor)
                continue
            }
            Thread.detachNewThread {
                let peer = LoopbackClient(accepted: descriptor)
                self.script(peer)
                // Forgotten before it is closed: the number may be somebody else's a moment later.
                self.peers.withLock { _ = $0.remove(descriptor) }
                // A program that was started meanwhile may have inherited it: closing is not
                // enough.
                withExtendedLifetime(peer) { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
            }
        }
        close(listener)
    }

    private static func bound(to port: UInt16) throws -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        // socket(7), SO_REUSEADDR: two may be bound to one port while at most one listens.
        var on: Int32 = 1
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, size)
            }
        }
        guard result == 0 else {
            close(descriptor)
            throw TestFailure("bind: errno \(errno)")
        }
        return descriptor
    }
}
