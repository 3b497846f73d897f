/// When a signed request counts as new.
package enum SignatureWindow {
    /// Seconds it may have been under way.
    package static let past = 60
    /// Seconds by which the sender's clock may be ahead.
    package static let ahead = 5

    /// - Parameters:
    ///   - created: seconds since 1970, by the sender's clock.
    ///   - now: seconds since 1970, by ours.
    package static func contains(_ created: Int, now: Int) -> Bool {
        created >= now - past && created <= now + ahead
    }
}

/// Lets every signed request through once: one for each installation, so that none can make another
/// one's requests stale.
///
/// It remembers the nonces of requests that are new still. What it has forgotten it refuses by age,
/// also when the clock is set back: below the floor nothing is new.
package struct ReplayGuard: Sendable {
    /// By the second in which they were made: at most the seconds of the window, and of clocks that
    /// were set.
    private var seen: [Int: Set<SignatureNonce>] = [:]
    private var count = 0
    /// The earliest second in which a request may have been made.
    private(set) var floor: Int
    private let capacity: Int

    /// - Parameters:
    ///   - start: seconds since 1970 when the program started: what was made before may have come
    ///     to the one that ran until then, as late as `ahead` allows.
    ///   - capacity: nonces remembered at most.
    package init(start: Int, capacity: Int = 65_536) {
        precondition(capacity > 0)
        // One more: it may have run until within the second in which this one started.
        floor = start + SignatureWindow.ahead + 1
        self.capacity = capacity
    }

    /// To be asked last, when all else is proven: a request that passes never does again.
    /// - Parameters:
    ///   - created: seconds since 1970, by the sender's clock.
    ///   - now: seconds since 1970, by ours.
    /// - Throws: `stale` or `replayed`.
    package mutating func admit(
        created: Int, nonce: SignatureNonce, now: Int
    ) throws(SignatureFault) {
        forget(now: now)
        guard created >= floor, SignatureWindow.contains(created, now: now) else { throw .stale }
        guard seen[created]?.contains(nonce) != true else { throw .replayed }
        if count == capacity {
            forgetEarliest()
            guard created >= floor else { throw .stale }
        }
        seen[created, default: []].insert(nonce)
        count += 1
    }

    /// Forgets what is too old to come again, by age alone.
    private mutating func forget(now: Int) {
        for second in seen.keys where second < now - SignatureWindow.past { forget(second) }
    }

    private mutating func forgetEarliest() {
        if let second = seen.keys.min() { forget(second) }
    }

    private mutating func forget(_ second: Int) {
        count -= seen.removeValue(forKey: second)?.count ?? 0
        // Of this second and before, a replay would not be known.
        floor = max(floor, second + 1)
    }
}
