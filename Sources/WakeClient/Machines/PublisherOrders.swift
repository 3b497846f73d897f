import WakeFeed

/// What the publisher asks of all clients, clamped by the client: no feed can switch a client off
/// for ever or make it ask more often. The settings come from the head with the highest `issued`
/// ever verified.
struct PublisherOrders: Sendable, Equatable {
    var settings = FeedSettings()
    /// Seconds since 1970, by this device's clock: when that head was first seen.
    var seen: Int64 = 0

    static let longestPause: Int64 = 72 * 3600

    /// How long a client waits at random after a wake.
    var spread: Duration { .seconds(Int64(min(settings.spreadSeconds, 3600))) }
    /// How long a cache on the way may serve an old head.
    var cache: Duration { .seconds(Int64(min(max(settings.cacheSeconds, 1), 3600))) }
    var isRetired: Bool { settings.flags.contains(.retired) }
    var mayRegister: Bool { settings.flags.isDisjoint(with: [.noRegistration, .retired]) }

    /// Until when wakes are ignored; nil when they are not. Counted by this device's clock from
    /// when the order was first seen, so that a wrong clock cannot stretch it.
    func pausedUntil(now: Int64) -> Int64? {
        guard settings.flags.contains(.paused), now >= seen else { return nil }
        let end = seen + min(Int64(settings.pauseSeconds), Self.longestPause)
        return now < end ? end : nil
    }
}
