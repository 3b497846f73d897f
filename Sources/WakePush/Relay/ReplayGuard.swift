/// The ages at which a signed request counts as new.
package enum SignatureWindow {
    /// Seconds that a request may have travelled.
    package static let past = 60
    /// Seconds by which the sender's clock may be ahead.
    package static let ahead = 5

    /// Both in seconds since 1970: `created` by the sender's clock, `now` by the receiver's.
    package static func contains(_ created: Int, now: Int) -> Bool {
        created >= now - past && created <= now + ahead
    }
}

/// A filter that lets every signed request of one installation through once. It remembers nonces of
/// requests that are still new; older ones are refused by age, also when the clock is set back.
package struct ReplayGuard: Sendable {
    /// By the second of creation: at most the seconds of the window, more when clocks were set.
    private var seen: [Int: Set<SignatureNonce>] = [:]
    private var count = 0
    /// The earliest second of creation that is accepted.
    private(set) var floor: Int
    private let capacity: Int

    /// - Parameter start: seconds since 1970 when the program started: requests made until `ahead`
    ///   seconds later may have reached the former one.
    package init(start: Int, capacity: Int = 65_536) {
        precondition(capacity > 0)
        // One more: the former program may have run into the second in which this one started.
        floor = start + SignatureWindow.ahead + 1
        self.capacity = capacity
    }

    /// Admits a proven request once; throws `stale` or `replayed`. Times: seconds since 1970.
    package mutating func admit(
        created: Int, nonce: SignatureNonce, now: Int
    ) throws(SignatureError) {
        for second in seen.keys where second < now - SignatureWindow.past { forget(second) }
        guard created >= floor, SignatureWindow.contains(created, now: now) else { throw .stale }
        guard seen[created]?.contains(nonce) != true else { throw .replayed }
        if count == capacity {
            if let earliest = seen.keys.min() { forget(earliest) }
            guard created >= floor else { throw .stale }
        }
        seen[created, default: []].insert(nonce)
        count += 1
    }

    private mutating func forget(_ second: Int) {
        count -= seen.removeValue(forKey: second)?.count ?? 0
        // A replay from this second or before would not be noticed.
        floor = max(floor, second + 1)
    }
}
