import Synchronization

/// Messages between the connection's thread and whoever reads them, bounded in count and bytes.
final class BusInbox: Sendable {
    private struct State {
        var waiting: [(message: BusMessage, bytes: Int)] = []
        var bytes = 0
        var readers: [CheckedContinuation<BusMessage?, Never>] = []
        var isEnded = false
    }

    private let state = Mutex(State())

    /// - Parameter bytes: about what it takes.
    /// - Returns: false when there is no room: nothing was put in.
    func put(_ message: BusMessage, bytes: Int) -> Bool {
        let (isIn, reader) = state.withLock { state in
            if state.isEnded { return (true, CheckedContinuation<BusMessage?, Never>?.none) }
            if !state.readers.isEmpty { return (true, state.readers.removeFirst()) }
            guard state.waiting.count < BusLimits.waitingMessages,
                state.bytes + bytes <= BusLimits.waitingBytes
            else { return (false, nil) }
            state.waiting.append((message, bytes))
            state.bytes += bytes
            return (true, nil)
        }
        reader?.resume(returning: message)
        return isIn
    }

    /// What is in stays to be read.
    func end() {
        let readers = state.withLock { state in
            state.isEnded = true
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers { reader.resume(returning: nil) }
    }

    /// The next message; nil at the end, or when the reading task is cancelled.
    func next() async -> BusMessage? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: BusMessage?? = state.withLock { state in
                    if !state.waiting.isEmpty {
                        let (message, bytes) = state.waiting.removeFirst()
                        state.bytes -= bytes
                        return message
                    }
                    if state.isEnded || Task.isCancelled { return .some(nil) }
                    state.readers.append(continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            // One reader is the rule; with several all of them look again.
            let readers = state.withLock { state in
                defer { state.readers = [] }
                return state.readers
            }
            for reader in readers { reader.resume(returning: nil) }
        }
    }
}
