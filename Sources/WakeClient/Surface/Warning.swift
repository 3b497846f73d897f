/// Something that a person should know, though the client goes on.
public enum Warning: Sendable, Equatable {
    /// No verified head, and no page of a `DataSource`, for so many days (2, then 7).
    case silence(days: Int)
    /// Two different histories under one sequence number: a server that shows people different
    /// feeds, or a stolen key. Nothing newer is checked.
    case fork(sequence: UInt64)
    /// These batches were published and dropped while the client was away: not checked, and never
    /// will be.
    case gap(first: UInt64, last: UInt64)
    /// The head has expired: the publisher is silent or somebody holds newer heads back.
    case stale
    /// The device's clock and the feed's differ by so many seconds (positive: the head is from
    /// the future). Checking goes on.
    case clockSkew(seconds: Int64)
    /// For a day nothing but heads without a valid signature.
    case badFeed
    /// For a day nothing but heads older than one seen before.
    case rollback
    /// The state database was damaged and put aside; everything is checked from the oldest
    /// retained batch, so matches may be told again, and a registration must be made anew.
    case stateReset
    /// No room on the disk for the state.
    case diskFull
    /// No room on the disk for fetched batches: they are checked as they come and not kept, so
    /// that a secret added later is not checked against them.
    case cacheFull
    /// The feed is retired: nothing will ever be published again. The client unregisters.
    case retired
    /// The service refuses the registration with this status.
    case registrationRefused(status: Int)
    /// No pushes come from the UnifiedPush distributor until somebody does something; event stream
    /// and polling go on.
    case distributorFails(DistributorTrouble)

    /// A stable word for scripts.
    public var code: String {
        switch self {
        case .silence: "silence"
        case .fork: "fork"
        case .gap: "gap"
        case .stale: "stale"
        case .clockSkew: "clock-skew"
        case .badFeed: "bad-feed"
        case .rollback: "rollback"
        case .stateReset: "state-reset"
        case .diskFull: "disk-full"
        case .cacheFull: "cache-full"
        case .retired: "retired"
        case .registrationRefused: "registration-refused"
        case .distributorFails: "distributor-fails"
        }
    }

    /// Why a UnifiedPush distributor brings no pushes.
    public enum DistributorTrouble: Int64, Sendable, Equatable {
        /// It is not there, or does not answer.
        case absent = 1
        /// It failed again and again.
        case failing = 2
        /// It wants its user to do something, such as to log in.
        case actionRequired = 3
        /// It wants the service's public VAPID key.
        case vapidRequired = 4
        /// It ended the registration again and again.
        case unregistered = 5
        /// It does not speak version 2 of the protocol.
        case unsupported = 6
    }
}
