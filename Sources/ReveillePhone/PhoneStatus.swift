public import Foundation
import WakeFeed

/// The progress of the desired registration.
public enum PhoneRegistrationState: Sendable, Equatable {
    /// Nothing is registered, and nothing is desired.
    case none
    /// The service acknowledged the push token.
    case registered
    /// The push token is on its way; each cycle tries again when it is due. `failure` is of the
    /// last attempt.
    case registering(failure: PhoneError?)
    /// The service refuses this push token for good: a defect of the app, or a token of another
    /// push service. The next token is tried.
    case refused
    /// Many register with the service now: it wants a proof of work, which the next cycle computes.
    case proving
    /// The erasure is on its way; each cycle tries again when it is due.
    case unregistering(failure: PhoneError?)
    /// The feed's publisher has switched registrations off for now; it stays desired.
    case suspended

    /// A stable name for a support page.
    public var name: String { entry.name }

    /// The failure of the last attempt.
    public var failure: PhoneError? { entry.failure }

    /// Whether a step is left to take.
    var isUnderWay: Bool {
        switch self {
        case .registering, .proving, .unregistering: true
        case .none, .registered, .refused, .suspended: false
        }
    }

    private var entry: (name: String, failure: PhoneError?) {
        switch self {
        case .none: ("none", nil)
        case .registered: ("registered", nil)
        case .registering(let failure): ("registering", failure)
        case .refused: ("refused", nil)
        case .proving: ("proving", nil)
        case .unregistering(let failure): ("unregistering", failure)
        case .suspended: ("suspended", nil)
        }
    }
}

/// The client's knowledge about itself. It holds no token, address or URL: it can be shown, logged
/// and sent to support.
public struct PhoneStatus: Sendable, Equatable {
    /// The progress of the desired registration.
    public let registration: PhoneRegistrationState
    /// Services of earlier configurations that have not acknowledged an erasure yet, and so may
    /// still hold a registration. What they hold expires by itself.
    public let formerServices: Int
    /// The newest batch of the feed that was checked; 0 before the first.
    public let sequence: UInt64
    /// The time of the last verified head; nil before the first.
    public let lastVerified: Date?
    /// The time of the last check of everything that a head named; nil before the first.
    public let lastChecked: Date?
    /// The batches that a head names and that were not checked.
    public let unchecked: [UInt64]
    /// The newest accepted head's sequence and words, to compare with others, as in
    /// `1842 lusab-babad-gutih-tugad-mudof-sakat-dapuv-zusog`; nil before the first.
    public let fingerprint: String?
    /// Matches that wait for ``PhoneClient/acknowledge(_:)``.
    public let matchesToDeliver: Int
    /// Wakes are ignored until then, as the publisher asks.
    public let pausedUntil: Date?
    /// The feed is retired: nothing will ever be published again.
    public let isRetired: Bool
    /// Two histories were seen; nothing newer is checked.
    public let isForked: Bool
    /// The publisher asks clients below this version, which the app's developer counts, to ask
    /// their user for an update; 0 for none.
    public let minimumClientVersion: Int
    /// The failure of the last cycle; nil when it succeeded.
    public let failure: PhoneError?
    /// What the user should know of now.
    public let warnings: [PhoneWarning]

    /// The status as lines of `name: value` in English, for a support page.
    public var diagnostics: String {
        let time = { (date: Date?) in
            date.map { ISO8601DateFormatter().string(from: $0) } ?? "never"
        }
        let lines = [
            "registration: " + registration.name
                + (registration.failure.map { " (\($0.code))" } ?? ""),
            "former services: \(formerServices)",
            "checked up to: \(sequence)",
            "unchecked: \(unchecked.count)",
            "last verified: " + time(lastVerified),
            "last checked: " + time(lastChecked),
            "fingerprint: " + (fingerprint ?? "none"),
            "matches to deliver: \(matchesToDeliver)",
            "paused until: " + (pausedUntil == nil ? "not paused" : time(pausedUntil)),
            "retired: \(isRetired)",
            "forked: \(isForked)",
            "minimum client version: \(minimumClientVersion)",
            "failure: " + (failure?.code ?? "none"),
        ]
        return (lines + warnings.map { "warning: \($0.description)" }).joined(separator: "\n")
    }
}

/// An occasion that the user should know of, though the client continues. It holds for as long as
/// it is among ``PhoneStatus/warnings``. The names are those of `Warning` of the library for Linux.
public enum PhoneWarning: Sendable, Equatable, Codable, CustomStringConvertible {
    /// No verified head for this many days, though checks were tried: the feed may be withheld.
    case silence(days: Int)
    /// Heads come, and of the batches `first` to `last` that they name at least these two were not
    /// checked for days: they are withheld or damaged.
    case notChecked(first: UInt64, last: UInt64)
    /// The secrets could not be read for the last cycle: nothing was compared.
    case secretsUnreadable
    /// This many secrets have another length than 16 to 1024 bytes: nothing is checked for them.
    case unusableSecrets(count: Int)
    /// Two histories under one number: a split view or a stolen key. Nothing newer is checked.
    case fork(sequence: UInt64)
    /// Batches that were dropped before they were checked, within the last 14 days: they are never
    /// checked.
    case gap(first: UInt64, last: UInt64)
    /// The head has expired: the publisher is silent, or newer heads are held back.
    case stale
    /// The newest head has fewer cosignatures than the policy of witnesses asks for: it is not
    /// believed, and the one before stays in force.
    case noQuorum
    /// The feed's log does not contain the one that was accepted before. Nothing newer is believed
    /// while it is so.
    case otherHistory
    /// The cosignatures are older than a head's life: the witnesses, or this device's clock.
    case staleCosignature
    /// The device's clock is so many seconds behind the feed's, or ahead of it when negative.
    case clockSkew(seconds: Int64)
    /// For a day nothing but heads without a valid signature.
    case badFeed
    /// For a day nothing but heads older than one seen before.
    case rollback
    /// The state was damaged and begun again, within the last 14 days: matches may be reported
    /// again, and the registration was made again.
    case stateReset
    /// The feed is retired: nothing will ever be published again. The client unregisters.
    case retired
    /// The service refuses the push token.
    case registrationRefused

    /// A sentence in English for the person whose device it is.
    public var description: String {
        switch self {
        case .silence(let days): "No news of the feed for \(days) days."
        case .notChecked(let first, let last):
            "The feed names \(Self.batches(first, last)), and not all of that could be checked."
        case .secretsUnreadable: "The secrets cannot be read: nothing is checked until they can be."
        case .unusableSecrets(let count):
            "\(count) secrets do not have 16 to 1024 bytes: nothing is checked for them."
        case .fork(let sequence):
            "Two different batches \(sequence) exist; nothing newer is checked."
        case .gap(let first, let last):
            "Of the feed, \(Self.batches(first, last)) can never be checked: it was missed, or did "
                + "not come in time."
        case .stale: "The feed's head has expired."
        case .noQuorum:
            "Too few witnesses have cosigned the feed's newest head: the one before stays in force."
        case .otherHistory: "The feed's log does not contain what it contained before."
        case .staleCosignature: "The witnesses' cosignatures are older than a head's life."
        case .clockSkew(let seconds):
            "This device's clock is \(abs(seconds)) s \(seconds < 0 ? "ahead of" : "behind") the "
                + "feed's."
        case .badFeed: "Nothing but heads without a valid signature for a day."
        case .rollback: "Nothing but heads older than one seen before for a day."
        case .stateReset:
            "The state was damaged and begun again; matches may be reported again."
        case .retired: "The feed has ended."
        case .registrationRefused: "The service refuses this device's push token."
        }
    }

    private static func batches(_ first: UInt64, _ last: UInt64) -> String {
        first == last ? "batch \(first)" : "batches \(first) to \(last)"
    }
}
