public import ReveilleHandlers
public import WakeFeed
import WakeModel
public import WakeSystem

/// A published item that belongs to one of the local secrets.
public struct Match: Sendable, Hashable, Identifiable, Redacted {
    /// The same for every publication of the item and every delivery of the match.
    public let id: MatchID
    /// The name under which `LocalSecrets` lent the secret.
    public let secretID: String
    /// The note that the publisher sealed for holders of the secret, as it was published; nil when
    /// there is none, which is not the same as an empty one.
    public let noteBytes: [UInt8]?
    /// The batch of the feed that held it; 0 from a `DataSource`.
    public let sequence: UInt64

    init(id: MatchID, secretID: String, noteBytes: [UInt8]?, sequence: UInt64) {
        self.id = id
        self.secretID = secretID
        self.noteBytes = noteBytes
        self.sequence = sequence
    }

    func with(sequence: UInt64) -> Match {
        Match(id: id, secretID: secretID, noteBytes: noteBytes, sequence: sequence)
    }

    /// A match that a `DataSource` found. `id` is the same whenever the item is found; `secretID`
    /// is the app's own name for what matched; `note` is for the app.
    public init(id: MatchID, secretID: String, note: String? = nil) {
        self.init(id: id, secretID: secretID, noteBytes: note.map { Array($0.utf8) }, sequence: 0)
    }

    /// A match that a `DataSource` found, with a hash of `item` as its id: equal items are
    /// delivered once. `item` is the published bytes, or others that only this item has; they
    /// cannot be found from the id unless they can be guessed.
    public init(item: [UInt8], secretID: String, note: String? = nil) {
        let hash = Blake2b(count: 16, key: Self.itemDomain.span)
        hash.update(item.span)
        guard let id = MatchID(bytes: hash.finish()) else {
            preconditionFailure("an id has 16 bytes")
        }
        self.init(id: id, secretID: secretID, note: note)
    }

    /// The same for an item that is text: its bytes in UTF-8.
    public init(item: String, secretID: String, note: String? = nil) {
        self.init(item: Array(item.utf8), secretID: secretID, note: note)
    }

    /// The note as text; nil when there is none. What is not UTF-8 in ``noteBytes`` is replaced by
    /// U+FFFD.
    public var note: String? { noteBytes.map { String(decoding: $0, as: UTF8.self) } }

    private static let itemDomain = Array("wake-client-match-item/1".utf8)
}

/// The app's receiver of matches and warnings, which notifies the local user.
///
/// ```swift
/// @MainActor final class Model: MatchHandler {
///     var matches: [Match] = []
///     var warning: Warning?
///
///     func didFind(_ match: Match) async throws { matches.append(match) }
///     func didWarn(_ warning: Warning) async { self.warning = warning }
/// }
/// ```
///
/// `didFind(_:)` is called at least once for every match, one at a time. Returning means that the
/// user was notified; after throwing, the match is delivered again in 1 minute to 6 hours.
/// `didWarn(_:)` is called once for each occasion. Both may be isolated to any actor, and need not
/// be `async` or throw. One that is isolated to none runs on a thread that serves nothing else: it
/// may block.
///
/// Two closures do as well, see
/// ``Reveille/WakeClient/init(_:secrets:environment:onMatch:onWarning:)``, or a loop over
/// ``Reveille/WakeClient/events``.
public protocol MatchHandler: MatchHandling
where Match == Reveille.Match, Warning == Reveille.Warning {}

/// The handler that two closures make.
struct ClosureHandler: MatchHandler {
    let onMatch: @Sendable (Match) async throws -> Void
    let onWarning: @Sendable (Warning) async -> Void

    func didFind(_ match: Match) async throws { try await onMatch(match) }
    func didWarn(_ warning: Warning) async { await onWarning(warning) }
}
