import Synchronization

/// One lookup and whoever waits for it. The first end counts: the answer, the time limit or the
/// cancellation.
final class PendingLookup: Sendable {
    typealias Answer = Result<[IPAddress], ResolveError>

    private struct State {
        var answer: Answer?
        var continuation: CheckedContinuation<Answer, Never>?
    }

    let host: [UInt8]
    private let state = Mutex(State())

    init(_ host: [UInt8]) {
        self.host = host
    }

    var hasEnded: Bool { state.withLock { $0.answer != nil } }

    /// Once; resumes at once if the end came first.
    func onEnd(_ continuation: CheckedContinuation<Answer, Never>) {
        let answer = state.withLock { state in
            if state.answer == nil { state.continuation = continuation }
            return state.answer
        }
        if let answer { continuation.resume(returning: answer) }
    }

    func end(_ answer: Answer) {
        let continuation = state.withLock { state in
            defer { state.continuation = nil }
            guard state.answer == nil else { return nil as CheckedContinuation<Answer, Never>? }
            state.answer = answer
            return state.continuation
        }
        continuation?.resume(returning: answer)
    }
}
