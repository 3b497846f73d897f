import Synchronization

/// An answer that is sent in pieces while it comes about: as chunks (RFC 9112 §7.1), to a client of
/// HTTP/1.0 up to the end of the connection. Made by ``Exchange/stream(_:waiting:lost:)``; its
/// verbs may be called from any thread.
package final class StreamedAnswer: Sendable {
    /// What became of a piece.
    package enum Piece: Sendable, Equatable {
        case taken
        /// So much waits for the far end already that this would be too much; nothing of it was
        /// taken.
        case full
        /// Nobody is there to read it, or the answer has ended.
        case gone
    }

    enum End: Sendable { case complete, cut }

    private struct State {
        var waiting: [UInt8] = []
        /// The loop knows that there is something to look at.
        var isAnnounced = false
        var end: End?
        /// The loop has taken the end, or the far end is gone.
        var isOver = false
    }

    private let state = Mutex(State())
    private let bound: Int
    private let announce: @Sendable () -> Void
    private let lost: @Sendable () -> Void

    init(
        bound: Int, lost: @escaping @Sendable () -> Void, announce: @escaping @Sendable () -> Void
    ) {
        self.bound = bound
        self.lost = lost
        self.announce = announce
    }

    /// Has `piece` sent after those before it.
    @discardableResult
    package func send(_ piece: [UInt8]) -> Piece {
        var isNews = false
        let outcome = state.withLock { state -> Piece in
            guard !state.isOver, state.end == nil else { return .gone }
            guard !piece.isEmpty else { return .taken }
            guard state.waiting.count + piece.count <= bound else { return .full }
            state.waiting += piece
            isNews = !state.isAnnounced
            state.isAnnounced = true
            return .taken
        }
        if isNews { announce() }
        return outcome
    }

    /// The answer is complete.
    package func finish() { end(.complete) }

    /// Ends the connection so that the client can tell that the answer is not complete.
    package func cut() { end(.cut) }

    private func end(_ end: End) {
        let isNews = state.withLock { state -> Bool in
            guard !state.isOver, state.end == nil else { return false }
            state.end = end
            defer { state.isAnnounced = true }
            return !state.isAnnounced
        }
        if isNews { announce() }
    }

    // MARK: The loop's side

    /// What waits, and whether that is the end.
    func take() -> (bytes: [UInt8], end: End?) {
        state.withLock { state in
            let bytes = state.waiting
            state.waiting = []
            state.isAnnounced = false
            if state.end != nil { state.isOver = true }
            return (bytes, state.end)
        }
    }

    /// The far end is gone: whoever makes the answer is told, unless they have ended it.
    func lose() {
        let isNews = state.withLock { state -> Bool in
            defer {
                state.isOver = true
                state.waiting = []
            }
            return !state.isOver && state.end == nil
        }
        if isNews { lost() }
    }
}
