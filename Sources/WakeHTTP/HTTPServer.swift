private import Glibc
package import WakeSystem

/// A strict HTTP/1.1 server on one epoll loop (RFC 9110, RFC 9112).
package final class HTTPServer: Sendable {
    private let reactor: Reactor

    /// The bound TCP ports in the order of the listeners; 0 for a Unix socket.
    package let ports: [UInt16]

    /// Binds and listens; clients that connect are answered once `run` is called.
    /// - Parameter loop: the one that stream hubs were made for; nil for a new one.
    package init(
        listeners: [ListenerConfiguration], limits: HTTPLimits = HTTPLimits(),
        loop: EventLoop? = nil, clock: LoopClock = .system
    ) throws(HTTPServerError) {
        var bound: [Listener] = []
        for (index, configuration) in listeners.enumerated() {
            bound.append(try Listener(configuration, limits: limits, index: index))
        }
        ports = bound.map(\.port)
        let ownLoop: EventLoop
        if let loop { ownLoop = loop } else { ownLoop = try EventLoop() }
        reactor = Reactor(listeners: bound, limits: limits, loop: ownLoop, clock: clock)
    }

    package var counters: HTTPCounters { reactor.counters }

    /// Finds what would keep a listener from being bound, and listens nowhere.
    /// - Parameter listener: its number in errors.
    package static func examine(
        _ address: ListenerConfiguration.Address, listener: Int
    ) throws(HTTPServerError) {
        try Listener.examine(address, index: listener)
    }

    /// Numbers below this are for public connections from now on, see `HTTPLimits.descriptors`.
    package func setDescriptors(_ count: Int) {
        let reactor = reactor
        reactor.loop.perform { reactor.assumeIsolated { $0.setDescriptors(count) } }
    }

    /// Serves until the task is cancelled; then stops accepting, answers the requests in flight
    /// and closes event streams, in at most the limits' drain seconds. Call it once.
    package func run() async {
        let reactor = reactor
        reactor.loop.start { reactor.assumeIsolated { $0.turn() } }
        await withTaskCancellationHandler {
            await reactor.serve()
        } onCancel: {
            reactor.loop.perform { reactor.assumeIsolated { $0.drain() } }
        }
    }

    /// Whether requests are answered; the loop's thread says so after finishing its present work.
    package var isServing: Bool {
        get async {
            guard !reactor.loop.hasEnded else { return false }
            return await reactor.isServing
        }
    }

    /// Makes the loop read its clock now: for a clock that jumps.
    package func checkDeadlines() {
        reactor.loop.perform {}
    }
}

/// A failure to listen. Numbers are the system's error numbers (errno(3)).
package enum HTTPServerError: Error, Equatable {
    /// The host or port of a TCP listener, counted from 0, cannot be bound.
    case cannotListen(listener: Int, errno: Int32)
    case addressInUse(listener: Int)
    /// The kernel gave no epoll instance or no eventfd.
    case noEventLoop(errno: Int32)

    init(_ result: Int32, listener: Int) {
        self =
            result == -EADDRINUSE
            ? .addressInUse(listener: listener)
            : .cannotListen(listener: listener, errno: -result)
    }
}

/// Counts of a server since its start, none of them about one client.
package final class HTTPCounters: Sendable {
    package let accepted = Counter("connections_accepted", "connections accepted")
    package let open = Counter("connections", "connections open now", .gauge)
    package let requests = Counter("requests", "complete requests")
    /// By the server itself, with a status of 400 to 499.
    package let refusedByClientError = Counter(
        "requests_refused_4xx", "requests refused as malformed")
    /// The same with a status of 500 to 599.
    package let refusedByServerError = Counter(
        "requests_refused_5xx", "requests refused at a cap or as unsupported")
    /// Also for want of descriptors.
    package let dropped = Counter("connections_dropped", "connections ended for slowness")

    package var all: [Counter] {
        [open, accepted, dropped, requests, refusedByClientError, refusedByServerError]
    }

    package init() {}

    func countRejection(status: UInt16) {
        (status < 500 ? refusedByClientError : refusedByServerError).add()
    }
}
