public import WakeFeed

/// One published item that belongs to one of the local secrets.
public struct Match: Sendable, Equatable {
    /// Stays the same however often the item is published or the match is told: told at least
    /// once, and what was told before can be recognised.
    public let id: MatchID
    /// The name under which `LocalSecrets` lent the secret.
    public let secretID: String
    /// What the publisher sealed for holders of the secret; empty when the feed has no notes.
    public let note: [UInt8]
    /// The batch that held it.
    public let sequence: UInt64
}

extension Match: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never what matched.
    public var description: String { "(match)" }
    /// Never what matched.
    public var debugDescription: String { description }
    /// Never what matched.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Tells the local user.
public protocol MatchHandler: Sendable {
    /// Tells of a match. Returning means that it was told; throwing has it told again after 1
    /// minute to 6 hours. Called at least once for every match, one at a time.
    func handle(_ match: Match) async throws

    /// Tells of something a person should know. Called once for each occasion.
    func handle(_ warning: Warning) async
}
