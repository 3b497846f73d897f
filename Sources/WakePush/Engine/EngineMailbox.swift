import Synchronization

/// What other threads tell the engine's own.
enum EngineCommand: Sendable {
    case batch(PushBatch)
    case authorization([UInt8])
    case resolved(line: Int, Result<[SocketAddress], PushFailure>)
    case close
}

/// The way in: a locked list and an eventfd, written once per change from empty.
final class EngineMailbox: Sendable {
    private struct State {
        var commands: [EngineCommand] = []
        var waiting = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    let poller: EnginePoller

    init() throws(PushEngineError) { poller = try EnginePoller() }

    /// - Returns: false when the mailbox is closed, or holds too many pushes for another batch.
    func post(_ command: EngineCommand) -> Bool {
        let (isTaken, wasEmpty) = state.withLock { state -> (Bool, Bool) in
            if state.isClosed { return (false, false) }
            if case .batch(let batch) = command {
                guard state.waiting + batch.count <= EngineConfiguration.waitingPushes else {
                    return (false, false)
                }
                state.waiting += batch.count
            }
            if case .close = command { state.isClosed = true }
            state.commands.append(command)
            return (true, state.commands.count == 1)
        }
        if wasEmpty { poller.wake() }
        return isTaken
    }

    func take() -> [EngineCommand] {
        state.withLock { state in
            let commands = state.commands
            state.commands = []
            return commands
        }
    }

    /// `count` pushes have had their outcome.
    func settled(_ count: Int) { state.withLock { $0.waiting -= count } }

    var waiting: Int { state.withLock { $0.waiting } }
}
