/// How many bytes a day may bring, for devices on a metered line. Pure: rows and a clock in, shares
/// and rows out.
///
/// Counted are the bodies of heads and batches, before they are fetched: whatever dies in between,
/// too much is counted and never too little. What a share did not use is given back. Days are those
/// of UTC.
///
/// Nothing wedges it: heads, which are always fetched, take no more than half of a day away from
/// the batches, and that half is at least two marks from which a fetch can be continued. So every
/// batch arrives after days enough, however much larger than the budget it is.
package struct DataBudget: Sendable, Equatable {
    /// The smallest budget, bytes a day.
    package static let least = 4 * BatchIntake.markBytes
    private static let secondsADay: Int64 = 86_400
    /// Days by which the newest head may be older than what was counted last. A publisher signs
    /// anew at least so often.
    private static let trustedDays: Int64 = 14

    /// Bytes a day.
    package let limit: Int
    /// The day that is counted, in days since 1970.
    package private(set) var day: Int64
    /// What that day has brought, and what is reserved of it.
    package private(set) var bytes: Int
    /// Batches that wait for another day.
    package var waiting: Int

    package init(limit: Int, day: Int64 = 0, bytes: Int = 0, waiting: Int = 0) {
        precondition(limit >= Self.least)
        self.limit = limit
        self.day = day
        self.bytes = max(0, bytes)
        self.waiting = max(0, waiting)
    }

    /// What one fetch may bring.
    package struct Share: Sendable, Equatable {
        /// Where it is cut: a multiple of 64 KiB when it can be continued from there.
        package var bytes: Int
        /// A batch that is known to fit into this much is not cut.
        package var most: Int
        /// A fetch that nothing is kept of would begin anew every day: it may go on to its end.
        package var isWholeAllowed: Bool
        /// The same for one whose server sends everything though only the rest was asked for.
        package var isWholeAllowedAnew = false
    }

    /// When waiting batches are fetched, seconds since 1970.
    package var nextDay: Int64 { (day + 1) * Self.secondsADay }

    private var rest: Int { max(0, limit - bytes) }
    /// Nothing but heads came today.
    private var isFresh: Bool { bytes <= limit / 2 }

    /// Begins another day if it is one.
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - signed: when the newest head was signed: it tells which of two clocks was wrong.
    package mutating func turn(to now: Int64, signed: Int64?) {
        let today = Self.day(now)
        if today > day {
            (day, bytes) = (today, 0)
            return
        }
        // A clock that was set back refills nothing. But one that was a year ahead when the bytes
        // were counted must not keep us waiting for a year: today counts on with what came.
        guard today < day, let signed else { return }
        let published = Self.day(signed)
        if day - published > Self.trustedDays, today >= published { day = today }
    }

    /// Counts a head before it is fetched. Never refused; see above for its bound.
    package mutating func countHead(_ count: Int) {
        bytes = max(bytes, min(bytes + count, limit / 2))
    }

    /// What the next batch may bring; nil for nothing today.
    /// - Parameters:
    ///   - isKept: the fetch can be continued another day.
    ///   - isSecond: the batch came damaged and is fetched once more. What a cache on the way
    ///     damages would use up every day for ever, so this fetch goes on to its end.
    ///   - isResumed: a part of it is there.
    package func share(
        isKept: Bool, isResumed: Bool = false, isSecond: Bool = false
    ) -> Share? {
        if isSecond { return Share(bytes: rest, most: rest, isWholeAllowed: true) }
        if isKept {
            let marks = rest / BatchIntake.markBytes
            guard marks > 0 else { return nil }
            return Share(
                bytes: marks * BatchIntake.markBytes, most: rest, isWholeAllowed: false,
                isWholeAllowedAnew: isResumed && isFresh)
        }
        guard rest > 0 else { return nil }
        return Share(bytes: rest, most: rest, isWholeAllowed: isFresh)
    }

    /// Counts a share before it is used.
    /// - Parameter most: bytes that a batch can have at most.
    /// - Returns: what was counted, for `settle`.
    package mutating func reserve(_ share: Share, most: Int) -> Int {
        let isWhole = share.isWholeAllowed || share.isWholeAllowedAnew
        let count = isWhole ? most : min(share.most, most)
        bytes += count
        return count
    }

    /// Puts what came in the place of what was reserved.
    /// - Parameter isFruitless: nothing of it can be used another day, and it does not fit into
    ///   this one.
    package mutating func settle(
        reserved: Int, received: Int, isFruitless: Bool, at now: Int64, signed: Int64?
    ) {
        let before = day
        turn(to: now, signed: signed)
        // Midnight passed meanwhile: all of it counts for the new day.
        bytes = day == before ? max(0, bytes - reserved) + received : received
        if isFruitless { bytes = max(bytes, limit) }
    }

    /// Rounded down, also before 1970.
    private static func day(_ time: Int64) -> Int64 {
        let (day, rest) = time.quotientAndRemainder(dividingBy: secondsADay)
        return rest < 0 ? day - 1 : day
    }
}
