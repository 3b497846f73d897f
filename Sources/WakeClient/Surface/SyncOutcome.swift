/// Why a cycle was asked for.
public enum SyncReason: Sendable, Equatable {
    /// A person or the app wants to know now.
    case manual
    /// A platform push arrived and the app hands it over.
    case push
    /// The event stream said so; `hint` is the newest sequence it knows of, 0 for none.
    case wake(hint: UInt64)
    /// The timer.
    case poll
    /// The first look after the start, after a reconnection or after the machine slept.
    case resumed
}

/// What a cycle found.
public enum SyncOutcome: Sendable, Equatable {
    /// The feed has nothing that was not checked before.
    case upToDate
    /// New batches were checked. `matches` are those that were not known before.
    case checked(batches: Int, matches: Int)
    /// As `checked`, and then the day's bytes were used up: `waiting` batches are fetched from
    /// `until` on, seconds since 1970. Nothing is skipped.
    case metered(batches: Int, matches: Int, waiting: Int, until: Int64)
    /// The head is older than the wake said: an edge of a CDN lags behind. Looked at again later.
    case behind
    /// The feed is retired: nothing will ever be published again.
    case retired
    /// A push that came while wakes are paused, or after the registration was given up.
    case ignored
}
