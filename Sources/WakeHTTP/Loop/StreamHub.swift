import Synchronization
import WakeSystem

/// The subscribers of one event stream and their caps; who does not read is dropped, not buffered.
package actor StreamHub {
    private nonisolated let loop: EventLoop
    private nonisolated let size = Atomic<Int>(0)
    nonisolated let keepAlive: [UInt8]
    private var subscribers: Set<ConnectionSocket.Key> = []
    private var sources = SourceCounts()
    private var reactor: Reactor?

    /// `loop`: of the server whose connections will subscribe. `keepAlive`: sent now and then to
    /// every subscriber; an event-stream comment by default.
    package init(loop: EventLoop, keepAlive: [UInt8] = [0x3A, 0x0A, 0x0A]) {
        self.loop = loop
        self.keepAlive = keepAlive
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe loop.asUnownedSerialExecutor()
    }

    /// Sends `bytes` to all subscribers of now; from any thread. Publications arrive in order.
    package nonisolated func publish(_ bytes: [UInt8]) {
        loop.perform { self.assumeIsolated { $0.send(bytes) } }
    }

    package nonisolated var count: Int { size.load(ordering: .relaxed) }

    private func send(_ bytes: [UInt8]) {
        guard let reactor, !subscribers.isEmpty else { return }
        let receivers = Array(subscribers)
        reactor.assumeIsolated { $0.connections.publish(bytes, to: receivers) }
    }

    /// Subscribes a connection of `reactor`, unless a cap is reached.
    func admit(
        _ connection: ConnectionSocket.Key, source: PrefixHash?, by reactor: Reactor,
        limits: HTTPLimits
    ) -> Bool {
        precondition(reactor.loop === loop, "a hub serves the connections of its own loop")
        guard subscribers.count < limits.streams else { return false }
        if let source {
            guard sources[source] < limits.streamsPerSource else { return false }
            sources.add(source)
        }
        self.reactor = reactor
        subscribers.insert(connection)
        size.store(subscribers.count, ordering: .relaxed)
        return true
    }

    func remove(_ connection: ConnectionSocket.Key, source: PrefixHash?) {
        guard subscribers.remove(connection) != nil else { return }
        if let source { sources.remove(source) }
        size.store(subscribers.count, ordering: .relaxed)
    }
}
