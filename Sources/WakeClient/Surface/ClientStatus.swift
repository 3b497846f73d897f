/// What the client knows about itself. Times are in seconds since 1970.
public struct ClientStatus: Sendable, Equatable {
    /// How far the wish about the registration has come.
    public internal(set) var registration: RegistrationState
    /// The newest batch of the feed that was checked; 0 before the first, and with a `DataSource`.
    public internal(set) var sequence: UInt64
    /// When a head was last verified, or a page of a `DataSource` checked; nil before the first.
    public internal(set) var lastVerified: Int64?
    /// Matches that wait to be told.
    public internal(set) var matchesToTell: Int
    /// Wakes are ignored until then, by order of the publisher.
    public internal(set) var pausedUntil: Int64?
    /// The feed is retired.
    public internal(set) var isRetired: Bool
    /// Two histories were seen; nothing newer is checked.
    public internal(set) var isForked: Bool
    /// Feed and service share an origin: one operator sees who registers and who fetches.
    public internal(set) var sharesOrigin: Bool
    /// The event stream stands, in this process.
    public internal(set) var isStreaming: Bool
    /// Batches that wait for another day's budget.
    public internal(set) var batchesWaiting: Int
    /// When they are fetched; nil when none waits.
    public internal(set) var waitingUntil: Int64?
    /// Why the last cycle failed, in this process; nil when it did not.
    public internal(set) var failure: ClientError?
}
