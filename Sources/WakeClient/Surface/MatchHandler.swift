public import WakeFeed
private import WakeSodium

/// One published item that belongs to one of the local secrets.
public struct Match: Sendable, Equatable {
    /// Stays the same however often the item is published or the match is told: told at least
    /// once, and what was told before can be recognised.
    public let id: MatchID
    /// The name under which `LocalSecrets` lent the secret.
    public let secretID: String
    /// What the publisher sealed for holders of the secret; empty when the feed has no notes.
    public let note: [UInt8]
    /// The batch of the feed that held it; 0 from a `DataSource`.
    public let sequence: UInt64

    init(id: MatchID, secretID: String, note: [UInt8], sequence: UInt64) {
        self.id = id
        self.secretID = secretID
        self.note = note
        self.sequence = sequence
    }

    /// A match that a `DataSource` found.
    /// - Parameters:
    ///   - id: the same for the same item, whenever it is found.
    ///   - secretID: the app's own name for what matched.
    ///   - note: what to tell the user beside it, in the app's own words.
    public init(id: MatchID, secretID: String, note: [UInt8] = []) {
        self.init(id: id, secretID: secretID, note: note, sequence: 0)
    }

    /// A match that a `DataSource` found, named after the item: equal items have one id, and are
    /// told once.
    /// - Parameters:
    ///   - item: what was published, or whatever else tells this item from all others. It cannot be
    ///     found from the id unless it can be guessed.
    ///   - secretID: the app's own name for what matched.
    ///   - note: what to tell the user beside it, in the app's own words.
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
