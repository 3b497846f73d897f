import WakeFeed

// Metered mode: each fetch of the feed is counted before it begins, and batches that a day's budget
// has no room for wait for another day, the cursor before them. Nothing here depends on a match.

extension WakeClient {
    /// Counts a head, which is always fetched.
    func countHead(of feed: FeedSource) throws(ClientError) {
        guard var budget = try budget(of: feed) else { return }
        budget.countHead(FeedLimits.headBytes)
        try store(budget)
    }

    /// Gives the fetch its share of the day's bytes, and counts it.
    /// - Parameter isSecond: the batch came damaged before.
    /// - Returns: what was counted; nil when nothing is left today.
    func reserve(
        for intake: BatchIntake, of feed: FeedSource, isSecond: Bool
    ) throws(ClientError) -> Int? {
        guard var budget = try budget(of: feed) else { return 0 }
        let most = FeedLimits.headerBytes + FeedLimits.payloadBytes
        // Bytes that a full disk cannot keep would come again tomorrow.
        let isKept = intake.isKept && feed.cache.hasRoom(for: most)
        let share = budget.share(
            isKept: isKept, isResumed: intake.resumeAt > 0, isSecond: isSecond)
        guard let share else { return nil }
        intake.limit(to: share)
        let reserved = budget.reserve(share, most: most)
        try store(budget)
        return reserved
    }

    /// Puts what came in the place of what was reserved.
    func settle(
        _ intake: BatchIntake, of feed: FeedSource, reserved: Int
    ) throws(ClientError) {
        guard var budget = try budget(of: feed) else { return }
        budget.settle(
            reserved: reserved, received: intake.received, isFruitless: intake.isFruitless,
            at: environment.wallSeconds(), signed: record.cursor.newestIssued)
        try store(budget)
    }

    /// Notes how many batches wait for another day.
    /// - Returns: until when, seconds since 1970; nil when none does.
    func wait(with batches: Int, of feed: FeedSource) throws(ClientError) -> Int64? {
        guard var budget = try budget(of: feed) else { return nil }
        if budget.waiting != batches {
            budget.waiting = batches
            try store(budget)
        }
        return batches == 0 ? nil : budget.nextDay
    }

    /// The budget of today; nil when there is none.
    private func budget(of feed: FeedSource) throws(ClientError) -> DataBudget? {
        guard let limit = feed.configuration.dailyByteBudget else { return nil }
        var budget = try clientError { () throws(StateError) in try state.budget(limit: limit) }
        budget.turn(to: environment.wallSeconds(), signed: record.cursor.newestIssued)
        return budget
    }

    private func store(_ budget: DataBudget) throws(ClientError) {
        try clientError { () throws(StateError) in try state.save(budget) }
    }
}
