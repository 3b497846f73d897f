/// A strict HTTP/1.1 server on one epoll loop (RFC 9110, RFC 9112). It knows nothing of what it
/// serves.
package final class HTTPServer: Sendable {
    private let reactor: Reactor

    /// The bound TCP ports in the order of the listeners; 0 for a Unix socket.
    package let ports: [UInt16]

    /// Binds and listens; clients can connect from now on and are answered once `run` is called.
    ///
    /// - Parameter loop: the loop to run on, when stream hubs were made for it; nil for a new one.
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

    /// Serves until the task is cancelled; then stops accepting, answers what is in flight, closes
    /// event streams, all in at most the limits' drain seconds, and returns. Call it once.
    package func run() async {
        let reactor = reactor
        reactor.loop.start { reactor.assumeIsolated { $0.turn() } }
        await withTaskCancellationHandler {
            await reactor.serve()
        } onCancel: {
            reactor.loop.perform { reactor.assumeIsolated { $0.drain() } }
        }
    }

    /// Whether `run` has come to answering requests; asked on the loop's thread, so it also says
    /// that the loop has finished what it was doing.
    package var isServing: Bool {
        get async {
            guard !reactor.loop.hasEnded else { return false }
            return await reactor.state == .serving
        }
    }

    /// Makes the loop read its clock now: for a clock that jumps.
    package func checkDeadlines() {
        reactor.loop.perform {}
    }
}
