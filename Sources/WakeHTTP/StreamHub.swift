import Synchronization

/// The subscribers of one event stream and their caps. What it publishes goes to all of them at
/// once or, to those who do not read, not at all: they are dropped, never buffered.
package actor StreamHub {
    private nonisolated let loop: EventLoop
    private nonisolated let size = Atomic<Int>(0)
    nonisolated let keepAlive: [UInt8]
    private var subscribers: Set<ConnectionID> = []
    private var perSource: [SourceTag: Int] = [:]
    private var reactor: Reactor?

    /// - Parameters:
    ///   - loop: the loop of the server whose connections will subscribe.
    ///   - keepAlive: sent now and then to every subscriber; an event-stream comment by default.
    package init(loop: EventLoop, keepAlive: [UInt8] = [0x3A, 0x0A, 0x0A]) {
        self.loop = loop
        self.keepAlive = keepAlive
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe loop.asUnownedSerialExecutor()
    }

    /// Sends `bytes` to everyone subscribed now; from any thread. Bytes published one after the
    /// other arrive so.
    package nonisolated func publish(_ bytes: [UInt8]) {
        loop.perform { self.assumeIsolated { $0.fanOut(bytes) } }
    }

    /// Number of subscribers.
    package nonisolated var count: Int { size.load(ordering: .relaxed) }

    private func fanOut(_ bytes: [UInt8]) {
        guard let reactor, !subscribers.isEmpty else { return }
        let receivers = Array(subscribers)
        reactor.assumeIsolated { $0.fanOut(bytes, to: receivers) }
    }

    /// Takes in a connection of `reactor`, unless a cap is reached.
    func admit(
        _ connection: ConnectionID, source: SourceTag?, by reactor: Reactor, limits: HTTPLimits
    ) -> Bool {
        precondition(reactor.loop === loop, "a hub serves the connections of its own loop")
        guard subscribers.count < limits.streams else { return false }
        if let source {
            guard perSource[source, default: 0] < limits.streamsPerSource else { return false }
            perSource[source, default: 0] += 1
        }
        self.reactor = reactor
        subscribers.insert(connection)
        size.store(subscribers.count, ordering: .relaxed)
        return true
    }

    func leave(_ connection: ConnectionID, source: SourceTag?) {
        guard subscribers.remove(connection) != nil else { return }
        if let source {
            let left = perSource[source, default: 1] - 1
            perSource[source] = left > 0 ? left : nil
        }
        size.store(subscribers.count, ordering: .relaxed)
    }
}
