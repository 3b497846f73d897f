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
    /// The device's clock is so far behind the feed's, or ahead of it by a negative time. Checks
    /// continue.
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

    /// The reason that a UnifiedPush distributor brings no pushes.
    public enum DistributorTrouble: Int64, Sendable, CaseIterable {
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

/// All that is said of a warning, once: state, JSON, D-Bus, C interface and texts read it here.
extension Warning: CustomStringConvertible {
    /// The rows of the table.
    enum Name: String, CaseIterable {
        case silence, notChecked, secretsUnreadable, unusableSecrets, lostBatches, fork, gap, stale
        case noQuorum, otherHistory, staleCosignature, clockSkew, badFeed, rollback, stateReset
        case diskFull, cacheFull, retired, registrationRefused, distributorFails
    }

    /// The numbers of a warning; 0 where it has none.
    package struct Values: Sendable, Equatable {
        package var number: Int64 = 0
        package var first: UInt64 = 0
        package var last: UInt64 = 0
        /// Seconds since 1970.
        package var since: Int64 = 0
    }

    private struct Entry {
        let name: Name
        let number: Int32
        /// In lower case and without the full stop.
        let phrase: String
        let values: Values

        init(_ name: Name, _ number: Int32, _ phrase: String, _ values: Values = Values()) {
            (self.name, self.number, self.phrase, self.values) = (name, number, phrase, values)
        }
    }

    private var entry: Entry {
        switch self {
        case .silence(let days):
            Entry(.silence, 1, "no news of the feed for \(days) days", Values(number: Int64(days)))
        case .notChecked(let first, let last, let since):
            Entry(
                .notChecked, 2,
                first == 0
                    ? "the app's data did not come to its end since \(since.minuteText)"
                    : "the feed names \(Self.batches(first, last)), and not all of that could be "
                        + "checked since \(since.minuteText): it does not come, or not as it was "
                        + "signed", Values(first: first, last: last, since: since.wholeSeconds))
        case .secretsUnreadable:
            Entry(
                .secretsUnreadable, 3,
                "the secrets cannot be read: nothing is checked until they can be")
        case .unusableSecrets(let count):
            Entry(
                .unusableSecrets, 4,
                "\(count) secrets do not have 16 to 1024 bytes: nothing is checked for them",
                Values(number: Int64(count)))
        case .lostBatches(let first, let last):
            Entry(
                .lostBatches, 5,
                "the cache has lost \(Self.batches(first, last)): a secret that was added cannot "
                    + "be checked against that any more, secrets of before were",
                Values(first: first, last: last))
        case .fork(let sequence):
            Entry(
                .fork, 6, "two different batches \(sequence) exist; nothing newer is checked",
                Values(first: sequence, last: sequence))
        case .gap(let first, let last):
            Entry(
                .gap, 7,
                "\(Self.batches(first, last)) can never be checked: it was missed, or did not come "
                    + "in time", Values(first: first, last: last))
        case .stale:
            Entry(.stale, 8, "the feed's head has expired")
        case .noQuorum:
            Entry(
                .noQuorum, 18,
                "too few witnesses have cosigned the feed's newest head: the one before stays in "
                    + "force")
        case .otherHistory:
            Entry(
                .otherHistory, 19,
                "the feed's log does not contain what it contained before: somebody is shown "
                    + "another one")
        case .staleCosignature:
            Entry(.staleCosignature, 20, "the witnesses' cosignatures are older than a head's life")
        case .clockSkew(let time):
            Entry(
                .clockSkew, 9,
                "this device's clock is \(abs(time.wholeSeconds)) s "
                    + "\(time < .zero ? "ahead of" : "behind") the feed's",
                Values(number: time.wholeSeconds))
        case .badFeed:
            Entry(.badFeed, 10, "nothing but heads without a valid signature for a day")
        case .rollback:
            Entry(.rollback, 11, "nothing but heads older than one seen before for a day")
        case .stateReset:
            Entry(
                .stateReset, 12,
                "the state was damaged and begun again; matches may be reported again")
        case .diskFull:
            Entry(.diskFull, 13, "there is no room on the disk")
        case .cacheFull:
            Entry(
                .cacheFull, 14,
                "there is no room for fetched batches: they were checked, but a secret added later "
                    + "will not be checked against them")
        case .retired:
            Entry(.retired, 15, "the feed has ended")
        case .registrationRefused(let status):
            Entry(
                .registrationRefused, 16,
                status == 422
                    ? "the service sends nothing to such a push token: its operator has not "
                        + "configured this push service, or not this endpoint's host"
                    : "the service refuses the registration with status \(status)",
                Values(number: Int64(status)))
        case .distributorFails(let trouble):
            Entry(
                .distributorFails, 17,
                "no pushes come: \(trouble.phrase); listening and polling go on",
                Values(number: trouble.rawValue))
        }
    }

    /// A stable name for scripts.
    public var code: String { entry.name.rawValue.hyphenated }

    /// Of `enum reveille_warning_code` in reveille.h.
    package var number: Int32 { entry.number }

    /// The numbers of the case.
    package var values: Values { entry.values }

    /// A sentence in English for the person whose device it is.
    public var description: String { phrase.asSentence }

    /// The same in lower case and without the full stop, for lines of a terminal.
    package var phrase: String { entry.phrase }

    /// - Returns: nil for another code, or values that it does not have.
    init?(code: String, _ values: Values) {
        let found = Self.all(values).first { $0.code == code && $0.values == values }
        guard let found else { return nil }
        self = found
    }

    /// One warning of each row with these values; a test asks for every `Name`.
    static func all(_ values: Values) -> [Warning] {
        let (number, first, last) = (Int(clamping: values.number), values.first, values.last)
        return [
            .silence(days: number),
            .notChecked(first: first, last: last, since: Date(seconds: values.since)),
            .secretsUnreadable, .unusableSecrets(count: number),
            .lostBatches(first: first, last: last), .fork(sequence: first),
            .gap(first: first, last: last), .stale, .noQuorum, .otherHistory, .staleCosignature,
            .clockSkew(.seconds(values.number)), .badFeed, .rollback, .stateReset, .diskFull,
            .cacheFull, .retired, .registrationRefused(status: number),
        ] + (DistributorTrouble(rawValue: values.number).map { [.distributorFails($0)] } ?? [])
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
