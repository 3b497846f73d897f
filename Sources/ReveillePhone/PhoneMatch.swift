public import Foundation
public import WakeBytes
import WakeFeed

/// A published item that belongs to one of the local secrets.
public struct PhoneMatch: Codable, Sendable, Hashable, Identifiable, Redacted {
    /// The same for every publication of the item and every delivery of the match: 32 hexadecimal
    /// digits, fit for the identifier of a notification.
    public let id: String
    /// The name under which the app has the secret.
    public let secretID: String
    /// The note that the publisher sealed for holders of the secret, as it was published; nil when
    /// there is none, which is not the same as an empty one.
    public let noteBytes: Data?
    /// The batch of the feed that held it.
    public let sequence: UInt64

    init(_ match: FeedMatch) {
        id = match.matchID.text
        secretID = match.secretID
        noteBytes = match.note.map { Data($0) }
        sequence = match.sequence
    }

    /// The note as text; nil when there is none. What is not UTF-8 is replaced by U+FFFD.
    public var note: String? { noteBytes.map { String(decoding: $0, as: UTF8.self) } }
}

/// Matches from their discovery on: those that wait to be acknowledged, and the ids of those that
/// were, so that an item that is published again is delivered once.
struct MatchRecord: Codable, Sendable, Equatable {
    /// Of an acknowledged match nothing else stays.
    private struct Delivered: Codable, Sendable, Equatable {
        var sequence: UInt64
        /// Seconds since 1970.
        let time: Int64
    }

    /// In the order found.
    private(set) var waiting: [PhoneMatch] = []
    private var delivered: [String: Delivered] = [:]

    /// Adds what is not known.
    /// - Returns: the number of new matches.
    mutating func add(_ matches: [FeedMatch]) -> Int {
        let before = waiting.count
        for match in matches.map(PhoneMatch.init) {
            if let sequence = delivered[match.id]?.sequence {
                delivered[match.id]?.sequence = max(sequence, match.sequence)
            } else if !waiting.contains(where: { $0.id == match.id }) {
                waiting.append(match)
            }
        }
        return waiting.count - before
    }

    mutating func acknowledge(_ id: String, now: Int64) {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        delivered[id] = Delivered(sequence: waiting.remove(at: index).sequence, time: now)
    }

    /// Drops the ids that nothing retained can match any more.
    mutating func dropDelivered(before first: UInt64, deliveredBefore time: Int64) {
        delivered = delivered.filter { $0.value.sequence >= first || $0.value.time >= time }
    }
}
