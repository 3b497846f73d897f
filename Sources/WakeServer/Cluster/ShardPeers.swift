import Synchronization
import WakeFetch
import WakeModel
import WakeSystem

/// The shards of a cluster (`[cluster] peers`). Any of them may have a row of a token that belongs
/// to this one: of before shards came or went, or of a minute in which this one was away. So each
/// deletion is handed on to all of them, and is answered 204 when all have acknowledged it.
///
/// They take it at a listener and a path that nobody else is given, and hand nothing on: there are
/// no loops, whatever the addresses lead to.
final class ShardPeers: Sendable {
    private struct State {
        var addresses: [ServiceAddress]
        /// When a deletion was last not acknowledged by all, seconds of a steady clock; nil: the
        /// last one was.
        var failure: UInt64?
    }

    /// At the listener of `[cluster]` alone.
    static let path: StaticString = "/v1/cluster/registration"
    /// Connections of that listener.
    static let connections = 512
    /// In which a shard has to acknowledge.
    private static let patience = Duration.seconds(5)

    private let state: Mutex<State>
    private let client: ServiceClient

    init(_ addresses: [ServiceAddress], _ client: ServiceClient) {
        state = Mutex(State(addresses: addresses))
        self.client = client
    }

    func change(to addresses: [ServiceAddress]) {
        state.withLock { state in
            guard addresses != state.addresses else { return }
            state = State(addresses: addresses)
        }
    }

    /// Whether one of them is away, as far as deletions of the last quarter of an hour tell.
    var isAway: Bool {
        let now = Self.now
        return state.withLock { $0.failure.map { now - $0 < 900 } ?? false }
    }

    private static var now: UInt64 { SystemClock.monotonicMilliseconds / 1000 }

    /// Has all of them forget a token.
    /// - Parameter then: gets whether they have; called once, from any thread.
    func forget(_ token: InstanceToken, then: @escaping @Sendable (Bool) -> Void) {
        let addresses = state.withLock { $0.addresses }
        guard !addresses.isEmpty else { return then(true) }
        let acknowledgements = Acknowledgements(addresses.count) { [self] isDone in
            state.withLock { state in
                if state.addresses == addresses { state.failure = isDone ? nil : Self.now }
            }
            then(isDone)
        }
        for address in addresses {
            client.send(.delete, Self.path, to: address, token: token, within: Self.patience) {
                acknowledgements.add((try? $0.get())?.0.status == 204)
            }
        }
    }
}

/// Counts answers until the last one.
private final class Acknowledgements: Sendable {
    private let state: Mutex<(left: Int, isDone: Bool)>
    private let then: @Sendable (Bool) -> Void

    init(_ count: Int, then: @escaping @Sendable (Bool) -> Void) {
        state = Mutex((count, true))
        self.then = then
    }

    func add(_ isDone: Bool) {
        let (left, isAllDone) = state.withLock { state in
            state.left -= 1
            state.isDone = state.isDone && isDone
            return (state.left, state.isDone)
        }
        if left == 0 { then(isAllDone) }
    }
}
