public import WakeFeed
private import WakeSodium
public import WakeSystem

/// One published item that belongs to one of the local secrets.
public struct Match: Sendable, Equatable, Redacted {
    /// The same for every publication of the item and every delivery of the match.
    public let id: MatchID
    /// The name under which `LocalSecrets` lent the secret.
    public let secretID: String
    /// The note that the publisher sealed for holders of the secret; empty when there is none.
    public let note: [UInt8]
    /// The batch of the feed that held it; 0 from a `DataSource`.
    public let sequence: UInt64

    init(id: MatchID, secretID: String, note: [UInt8], sequence: UInt64) {
        self.id = id
        self.secretID = secretID
        self.note = note
        self.sequence = sequence
    }

    func with(sequence: UInt64) -> Match {
        Match(id: id, secretID: secretID, note: note, sequence: sequence)
    }

    /// A match that a `DataSource` found. `id` is the same whenever the item is found; `secretID`
    /// is the app's own name for what matched; `note` is for the handler.
    public init(id: MatchID, secretID: String, note: [UInt8] = []) {
        self.init(id: id, secretID: secretID, note: note, sequence: 0)
    }

    /// A match that a `DataSource` found, with a hash of `item` as its id: equal items are
    /// delivered once. `item` is the published bytes, or others that only this item has; they
    /// cannot be found from the id unless they can be guessed.
    public init(item: [UInt8], secretID: String, note: [UInt8] = []) {
        let hash = Blake2b(count: 16, key: Self.itemDomain.span)
        hash.update(item.span)
        guard let id = MatchID(bytes: hash.finish()) else {
            preconditionFailure("an id has 16 bytes")
        }
        self.init(id: id, secretID: secretID, note: note)
    }

    private static let itemDomain = Array("wake-client-match-item/1".utf8)
}

/// The app's receiver of matches and warnings, which notifies the local user.
public protocol MatchHandler: Sendable {
    /// Handles a match. Returning means that the user was notified; after throwing it is delivered
    /// again in 1 minute to 6 hours. Called at least once for every match, one at a time.
    func handle(_ match: Match) async throws

    /// Handles a warning that the user should see. Called once for each occasion.
    func handle(_ warning: Warning) async
}

/// An occasion that the user should know of, though the client goes on.
public enum Warning: Sendable, Equatable {
    /// No verified head, and no page of a `DataSource`, for this many days (2, then 7).
    case silence(days: Int)
    /// Heads come, and of the batches `first` to `last` that they name at least these two were not
    /// checked, 2 and then 7 days after the last complete check at `since` (seconds since 1970):
    /// somebody withholds or damages them. 0 and 0 when a `DataSource` never comes to its end.
    case notChecked(first: UInt64, last: UInt64, since: Int64)
    /// The `LocalSecrets` cannot be read: nothing is checked until they can be.
    case secretsUnreadable
    /// This many secrets have another length than 16 to 1024 bytes: nothing is checked for them.
    case unusableSecrets(count: Int)
    /// Retained batches that the cache has lost, when a secret was added: they were checked for all
    /// secrets before, and will never be for this one.
    case lostBatches(first: UInt64, last: UInt64)
    /// Two histories under one number: a split view or a stolen key. Nothing newer is checked.
    case fork(sequence: UInt64)
    /// Batches that were dropped before the client came, or before they came as they were signed:
    /// they are never checked.
    case gap(first: UInt64, last: UInt64)
    /// The head has expired: the publisher is silent, or newer heads are held back.
    case stale
    /// The head is this many seconds ahead of the device's clock. Checking goes on.
    case clockSkew(seconds: Int64)
    /// For a day nothing but heads without a valid signature.
    case badFeed
    /// For a day nothing but heads older than one seen before.
    case rollback
    /// The state database was damaged and put aside: everything retained is checked again, matches
    /// may be delivered again, and a registration must be made again.
    case stateReset
    /// No room on the disk for the state.
    case diskFull
    /// No room on the disk for fetched batches: they are not kept for secrets added later.
    case cacheFull
    /// The feed is retired: nothing will ever be published again. The client unregisters.
    case retired
    /// The service refuses the registration with this status.
    case registrationRefused(status: Int)
    /// No pushes come from the UnifiedPush distributor until a person acts; stream and polls go on.
    case distributorFails(DistributorTrouble)

    /// A stable name for scripts.
    public var code: String {
        switch self {
        case .silence: "silence"
        case .notChecked: "not-checked"
        case .secretsUnreadable: "secrets-unreadable"
        case .unusableSecrets: "unusable-secrets"
        case .lostBatches: "lost-batches"
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

    /// The reason that a UnifiedPush distributor brings no pushes.
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
