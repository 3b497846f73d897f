import WakeModel

/// The pushes that a push token may have had within the last hour: Apple advises two or three.
struct RecentPushes {
    /// Earlier broadcasts of that hour, see ``BroadcastSchedule``.
    let runs: Int
    /// Push tokens that may have had one push more, for each of these.
    fileprivate(set) var repeated: [TokenDeduplicator] = []

    init(runs: Int) { self.runs = runs }

    private func count(_ token: PushToken) -> Int {
        // Hardly any run has to repeat a push.
        repeated.isEmpty ? runs : runs + repeated.count { $0.contains(token) }
    }

    private static let most = BroadcastSchedule.broadcastsPerHour

    /// Whether one more would be too many.
    func areEnough(for token: PushToken) -> Bool { count(token) >= Self.most }

    /// Whether it may be sent once more when its outcome is unknown.
    func allowsRepetition(to token: PushToken) -> Bool { count(token) + 2 <= Self.most }
}

/// The push tokens whose push was sent once more because its outcome was unknown, by run, as keyed
/// hashes in memory. Lost with a restart.
struct RepeatedPushes {
    private var runs: [(end: ContinuousClock.Instant, tokens: TokenDeduplicator)] = []

    private static let window = Duration.seconds(3600)

    mutating func add(_ tokens: TokenDeduplicator, now: ContinuousClock.Instant) {
        forget(now)
        if tokens.count > 0 { runs.append((now, tokens)) }
    }

    /// - Parameter runs: broadcasts of the last hour.
    mutating func recent(now: ContinuousClock.Instant, runs: Int) -> RecentPushes {
        forget(now)
        var recent = RecentPushes(runs: runs)
        recent.repeated = self.runs.map(\.tokens)
        return recent
    }

    private mutating func forget(_ now: ContinuousClock.Instant) {
        runs.removeAll { $0.end + Self.window < now }
    }
}
