import WakeModel
import WakeSystem

/// The bounds of the pushes that devices ask for themselves: one in ten minutes for an instance
/// token, registered or not, and a number for all. It knows instance tokens by hashes under a key
/// of this process, for ten minutes.
struct TestPushLimits {
    /// The reason to send nothing.
    enum Refusal: Equatable {
        /// This instance token had one; seconds until the next.
        case tooSoon(Int)
        /// Too many ask.
        case tooMany
    }

    /// Milliseconds between two for one instance token.
    static let pause: UInt64 = 600_000
    /// The most that are sent at once; as many again come a minute.
    static let burst = 60

    private var budget = TokenBucket(
        tokens: burst, per: .seconds(60), burst: burst, isFull: true)
    private let key = Sodium.random(32)
    /// When each may ask again, in milliseconds.
    private var times: [[UInt8]: UInt64] = [:]
    /// In the order of their times: as many as the budget gives in ten minutes.
    private var order = Deque<[UInt8]>()

    /// - Parameter now: milliseconds of a clock that only grows.
    /// - Returns: nil where a push may be sent, which counts from now on.
    mutating func refusal(for token: InstanceToken, now: UInt64) -> Refusal? {
        forget(now)
        let name = token.bytes.withSpan { Blake2b.hash($0, count: 16, key: key.span) }
        if let time = times[name] { return .tooSoon(Int((time - now + 999) / 1000)) }
        guard budget.take(1, now: now * 1_000_000) == nil else { return .tooMany }
        times[name] = now + Self.pause
        order.append(name)
        return nil
    }

    /// Whether nothing of any instance token is left, after what is over was forgotten.
    mutating func isEmpty(now: UInt64) -> Bool {
        forget(now)
        return order.isEmpty
    }

    private mutating func forget(_ now: UInt64) {
        while let first = order.first, let time = times[first], time <= now {
            times[first] = nil
            _ = order.popFirst()
        }
    }
}
