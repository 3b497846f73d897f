import CLinux
import Glibc
import WakeSystem

/// Answers one request through the responder; called on the loop's thread, so it must not block.
package typealias RequestHandler = @Sendable (Request, Responder) -> Void

/// An address to listen on and its handler.
package struct ListenerConfiguration: Sendable {
    package enum Address: Sendable {
        /// `::` serves IPv4 too; port 0 lets the system choose.
        case tcp(host: String, port: UInt16)
        /// The socket file has exactly `mode`. A file without a listener is replaced.
        case unix(path: String, mode: UInt32)
    }

    package var address: Address
    /// Whether every connection must start with a PROXY protocol v2 header.
    package var proxyProtocol: Bool
    /// A path with a bound of its own.
    package var largeBodies: BodyMemoryBudget?
    /// Connections that this listener has for itself, and the last descriptors with them: clients
    /// of another listener cannot take them. nil: `HTTPLimits.connections`.
    package var reserved: Int?
    package var handler: RequestHandler

    package init(
        _ address: Address, proxyProtocol: Bool = false,
        largeBodies: BodyMemoryBudget? = nil, reserved: Int? = nil,
        handler: @escaping RequestHandler
    ) {
        self.address = address
        self.proxyProtocol = proxyProtocol
        self.largeBodies = largeBodies
        self.reserved = reserved
        self.handler = handler
    }
}

/// A bound, listening socket; a Unix socket's file goes with it.
final class Listener {
    let configuration: ListenerConfiguration
    let limits: RequestLimits
    private let permits: BodyMemoryPermits?
    /// nil once closed; connections it accepted still ask for its configuration.
    private var descriptor: Descriptor?
    /// Not watched yet, or out of descriptors for a moment.
    private(set) var isPaused = true
    /// Connections that it accepted and that are open.
    private(set) var open = 0
    /// Open connections at most.
    let places: Int

    /// Waiting connections that the kernel keeps; it cuts this to `net.core.somaxconn`.
    private static let backlog: Int32 = 4_096

    init(
        _ configuration: ListenerConfiguration, limits: HTTPLimits, index: Int
    ) throws(HTTPServerError) {
        self.configuration = configuration
        self.limits = limits.request.admitting(configuration.largeBodies)
        places = configuration.reserved ?? limits.connections
        permits = configuration.largeBodies.map { BodyMemoryPermits($0.atOnce) }
        let number: Int32
        switch configuration.address {
        case .tcp(let host, let port):
            number = unsafe linux_listen_tcp(host, port, Listener.backlog)
        case .unix(let path, let mode):
            number = unsafe linux_listen_unix(path, mode, Listener.backlog)
        }
        guard number >= 0 else { throw HTTPServerError(number, listener: index) }
        descriptor = Descriptor(owning: number)
    }

    /// Throws what `init` would, and listens nowhere.
    static func examine(
        _ address: ListenerConfiguration.Address, index: Int
    ) throws(HTTPServerError) {
        let number: Int32
        switch address {
        case .tcp(let host, let port):
            number = unsafe linux_listen_tcp(host, port, 0)
            if number >= 0 { _ = Descriptor(owning: number) }
        case .unix(let path, _):
            number = unsafe linux_probe_unix(path, Files.parent(of: path) ?? ".")
        }
        guard number >= 0 else { throw HTTPServerError(number, listener: index) }
    }

    deinit { close() }

    /// Rejects new connections from now on; a Unix socket's file is removed.
    func close() {
        isPaused = true
        guard let descriptor = descriptor.take() else { return }
        if case .unix(let path, _) = configuration.address {
            // Unless a successor has replaced it.
            unsafe linux_unlink_unix(descriptor.number, path)
        }
    }

    /// The bound TCP port, 0 for a Unix socket.
    var port: UInt16 { UInt16(max(0, linux_bound_port(number))) }

    /// - Returns: false when the kernel has no memory for it: the listener pauses.
    func watch(by poller: Poller, token: UInt64) -> Bool {
        isPaused = !poller.add(number, .readable, token: token)
        return !isPaused
    }

    func accept() -> Socket.Accepted {
        isPaused ? .none : Socket.accept(from: number)
    }

    /// Stops accepting until `watch`: without descriptors, level triggering would spin the loop.
    func pause(_ poller: Poller) {
        poller.remove(number)
        isPaused = true
    }

    func opened() { open += 1 }

    func closed() { open -= 1 }

    func acquirePermit(holding held: (any AnyObject & Sendable)?) -> BodyMemoryPermits.Permit? {
        permits?.acquire(holding: held)
    }

    /// -1 once closed.
    private var number: Int32 { descriptor?.number ?? -1 }
}
