/// Watches the pace of one transfer: a value that is told of bytes and times and says whether it
/// has become too slow. Times are durations since any fixed moment.
struct PaceMeter {
    /// What to think of the pace at one moment.
    enum Verdict: Equatable {
        /// Fine; look again at this time.
        case enough(until: Duration)
        case tooSlow
    }

    private let pace: FetchTimeout.Pace
    /// Of the window or of the silence.
    private var start: Duration
    private var bytes = 0

    init(_ pace: FetchTimeout.Pace, from now: Duration) {
        self.pace = pace
        start = now
    }

    mutating func observe(_ count: Int, at now: Duration) {
        switch pace {
        case .idle: start = now
        case .atLeast:
            // A window ends where it is full, so that a body which just ended its window well is
            // not measured by the next byte alone.
            bytes += count
        }
    }

    mutating func judge(at now: Duration) -> Verdict {
        switch pace {
        case .idle(let silence):
            return now - start >= silence ? .tooSlow : .enough(until: start + silence)
        case .atLeast(let rate, let window):
            if now - start >= window {
                guard Self.isEnough(bytes, rate: rate, over: window) else { return .tooSlow }
                start = now
                bytes = 0
            }
            return .enough(until: start + window)
        }
    }

    private static func isEnough(_ bytes: Int, rate: Int, over window: Duration) -> Bool {
        Double(bytes) >= Double(rate) * (window / .seconds(1))
    }
}
