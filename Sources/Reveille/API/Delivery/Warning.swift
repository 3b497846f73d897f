public import FoundationEssentials
import WakeSystem

/// An occasion that the user should know of, though the client goes on.
public enum Warning: Sendable, Equatable {
    /// No verified head, and no page of a `DataSource`, for this many days (2, then 7).
    case silence(days: Int)
    /// Heads come, and of the batches `first` to `last` that they name at least these two were not
    /// checked, 2 and then 7 days after the last complete check at `since`: somebody withholds or
    /// damages them. 0 and 0 when a `DataSource` never comes to its end.
    case notChecked(first: UInt64, last: UInt64, since: Date)
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
    /// The newest head has fewer cosignatures than the policy of witnesses asks for: it is not
    /// believed, and the one before stays in force.
    case noQuorum
    /// The feed's log does not contain the one that was accepted before: somebody is shown another
    /// one. Nothing newer is believed while it is so.
    case otherHistory
    /// The cosignatures are older than a head's life, though the head may not be: the witnesses, or
    /// this device's clock.
    case staleCosignature
    /// The head is so far ahead of the device's clock. Checking goes on.
    case clockSkew(Duration)
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
        case .noQuorum: "no-quorum"
        case .otherHistory: "other-history"
        case .staleCosignature: "stale-cosignature"
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

extension Warning: CustomStringConvertible {
    /// A sentence in English for the person whose device it is.
    public var description: String { phrase.asSentence }

    /// The same in lower case and without the full stop, for lines of a terminal.
    package var phrase: String {
        switch self {
        case .silence(let days): "no news of the feed for \(days) days"
        case .notChecked(0, _, let since):
            "the app's data did not come to its end since \(since.minuteText)"
        case .notChecked(let first, let last, let since):
            "the feed names \(Self.batches(first, last)), and not all of that could be checked "
                + "since \(since.minuteText): it does not come, or not as it was signed"
        case .secretsUnreadable: "the secrets cannot be read: nothing is checked until they can be"
        case .unusableSecrets(let count):
            "\(count) secrets do not have 16 to 1024 bytes: nothing is checked for them"
        case .lostBatches(let first, let last):
            "the cache has lost \(Self.batches(first, last)): a secret that was added cannot be "
                + "checked against that any more, secrets of before were"
        case .fork(let sequence):
            "two different batches \(sequence) exist; nothing newer is checked"
        case .gap(let first, let last):
            "\(Self.batches(first, last)) can never be checked: it was missed, or did not come in "
                + "time"
        case .stale: "the feed's head has expired"
        case .noQuorum:
            "too few witnesses have cosigned the feed's newest head: the one before stays in force"
        case .otherHistory:
            "the feed's log does not contain what it contained before: somebody is shown another "
                + "one"
        case .staleCosignature: "the witnesses' cosignatures are older than a head's life"
        case .clockSkew(let time): "the clock differs from the feed's by \(time.wholeSeconds) s"
        case .badFeed: "nothing but heads without a valid signature for a day"
        case .rollback: "nothing but heads older than one seen before for a day"
        case .stateReset: "the state was damaged and begun again; matches may be reported again"
        case .diskFull: "there is no room on the disk"
        case .cacheFull:
            "there is no room for fetched batches: they were checked, but a secret added later "
                + "will not be checked against them"
        case .retired: "the feed has ended"
        case .registrationRefused(422):
            "the service sends nothing to such a push token: its operator has not configured this "
                + "push service, or not this endpoint's host"
        case .registrationRefused(let status):
            "the service refuses the registration with status \(status)"
        case .distributorFails(let trouble):
            "no pushes come: \(trouble.phrase); listening and polling go on"
        }
    }

    /// Numbers of batches.
    package static func batches(_ first: UInt64, _ last: UInt64) -> String {
        first == last ? "batch \(first)" : "batches \(first) to \(last)"
    }
}

extension Warning.DistributorTrouble {
    /// A part of a sentence.
    package var phrase: String {
        switch self {
        case .absent: "the distributor does not answer"
        case .failing: "the distributor fails again and again"
        case .actionRequired: "the distributor wants something done, such as a login"
        case .vapidRequired: "the distributor wants the service's VAPID key"
        case .unregistered: "the distributor ended the registration again and again"
        case .unsupported: "the distributor does not speak org.unifiedpush.Distributor2"
        }
    }
}
