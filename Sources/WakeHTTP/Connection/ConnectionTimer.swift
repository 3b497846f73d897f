import WakeSystem

/// The one timer of a connection: the phase that it bounds, and its deadline.
struct ConnectionTimer {
    enum Purpose { case none, idle, head, body, answer, write, pause, stream, linger }

    private(set) var purpose = Purpose.none
    /// Nanoseconds, as the context's time.
    private(set) var deadline = DeadlineTable.never
    /// When it was started.
    private(set) var since: UInt64 = 0
    /// Bytes taken by the client since the timer for writing started.
    private var writtenBytes = 0

    /// Starts, unless it runs for `purpose`; a large body has more time (`bodyBytesPerSecond`).
    mutating func start(
        _ purpose: Purpose, bodyBytes: Int = 0, _ context: ConnectionContext
    ) {
        guard self.purpose != purpose else { return }
        self.purpose = purpose
        since = context.now
        writtenBytes = 0
        let seconds: Int
        switch purpose {
        case .none: return deadline = DeadlineTable.never
        case .idle: seconds = context.limits.idleSeconds
        case .head: seconds = context.limits.headSeconds
        case .body:
            seconds = context.limits.bodySeconds + bodyBytes / context.limits.bodyBytesPerSecond
        case .answer: seconds = context.limits.answerSeconds
        case .pause: seconds = context.limits.pauseSeconds
        case .write: seconds = context.limits.writeSeconds
        case .linger: seconds = context.limits.lingerSeconds
        case .stream: return deadline = context.now + context.keepAlivePause()
        }
        deadline = context.now + UInt64(seconds) * 1_000_000_000
    }

    /// Stops; the next start begins from its full time.
    mutating func stop() {
        purpose = .none
        deadline = DeadlineTable.never
    }

    /// The socket took `count` of the bytes that wait.
    mutating func wrote(_ count: Int, _ context: ConnectionContext) {
        if purpose == .write { writtenBytes += count } else { start(.write, context) }
    }

    /// Whether the client took enough since the timer for writing started.
    func isWriteFast(_ limits: HTTPLimits) -> Bool { writtenBytes >= limits.writeFloorBytes }
}
