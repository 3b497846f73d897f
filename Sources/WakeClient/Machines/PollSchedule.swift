/// When to look without being told. Nothing a feed says makes a client look more than four times
/// an hour or less than once a day.
struct PollSchedule: Sendable, Equatable {
    static let standardSeconds: UInt32 = 4 * 3600
    static let shortest = Duration.seconds(15 * 60)
    static let longest = Duration.seconds(24 * 3600)

    /// The time to the next look.
    /// - Parameters:
    ///   - pollSeconds: what the newest head asks for; 0 for nothing.
    ///   - random: in [0, 1).
    static func interval(pollSeconds: UInt32, random: Double) -> Duration {
        precondition((0..<1).contains(random))
        let seconds = pollSeconds == 0 ? standardSeconds : pollSeconds
        return min(max(.seconds(Int64(seconds)) * (0.5 + random), shortest), longest)
    }
}
