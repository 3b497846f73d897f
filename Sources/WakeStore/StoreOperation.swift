package import WakeModel
import WakeSystem

package enum StoreOperation: Sendable {
    /// Create, move to another push token, or renew: one verb for all. `ifNew` is called on the
    /// writer's thread where neither generation has the row, and says whether it may be created.
    case register(InstanceToken, PushToken, ifNew: @Sendable () -> Bool = { true })
    case delete(InstanceToken)
    case read(InstanceToken)
}

/// The answer to an operation, given when it is durable.
package enum StoreAnswer: Sendable, Equatable {
    /// Registered or forgotten; after a delete the bytes are in no file of the store.
    case done
    case stored(StoredRegistration?)
    /// The row would be new, and `ifNew` did not allow it. Nothing was stored.
    case notAdmitted
    /// No room for another registration. Nothing was stored.
    case full
    /// The files cannot be used now; the operation may have taken effect and may be repeated.
    case unavailable
    /// Too many operations wait already. Nothing was done.
    case overloaded
}

/// A row of a page of a broadcast. Millions pass in seconds: no memory of its own.
package struct StoreRow: Sendable {
    package let identity: RowIdentity
    package let token: PushToken

    package var id: [UInt8] { identity.id }
}

/// The id of a row, and the first bytes of its sealed column, which every renewal changes.
package struct RowIdentity: Sendable {
    private let idWords: InlineArray<4, UInt64>
    private let nonceWords: InlineArray<3, UInt64>

    /// - Parameters:
    ///   - id: 32 bytes.
    ///   - sealed: 24 or more.
    init(id: Span<UInt8>, sealed: Span<UInt8>) {
        idWords = InlineArray { id.bigEndian(at: 8 * $0) }
        nonceWords = InlineArray { sealed.bigEndian(at: 8 * $0) }
    }

    package var id: [UInt8] { Self.bytes(idWords.span) }
    /// The first 32 bits of the id.
    package var idPrefix: UInt32 { UInt32(idWords[0] >> 32) }
    var nonce: [UInt8] { Self.bytes(nonceWords.span) }

    private static func bytes(_ words: Span<UInt64>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8 * words.count)
        for index in words.indices { bytes.append(bigEndian: words[index]) }
        return bytes
    }
}

/// A page of a broadcast.
package struct StorePage: Sendable {
    package let rows: [StoreRow]
    /// Where the next page begins; nil when there are no more rows.
    package let last: [UInt8]?
}

enum WriterMessage: Sendable {
    case operation(StoreOperation, prepare: @Sendable (StoreAnswer) -> AnswerGrid.Release)
    case removal(Generation, RowIdentity, answer: @Sendable (StoreAnswer) -> Void)
    case page(
        Generation, after: [UInt8], through: [UInt8], limit: Int, memory: PageMemory,
        answer: @Sendable (RawPage?) -> Void)
    /// The next slice of the generation that is being dropped; the writer's own.
    case expiry(rows: Int)
    case rotation(answer: @Sendable (RotationOutcome) -> Void)
    case compaction(answer: @Sendable (CompactionOutcome) -> Void)
    case survey(answer: @Sendable (StoreSurvey?) -> Void)
    case room(bytes: Int, answer: @Sendable (Bool) -> Void)

    /// True for what is part of a transaction; the rest is done between two.
    var isOperation: Bool {
        switch self {
        case .operation, .removal, .expiry: true
        case .page, .rotation, .compaction, .survey, .room: false
        }
    }

    /// - Parameter answer: only an operation can get another one than a refusal.
    func answer(_ answer: StoreAnswer) {
        switch self {
        case .operation(_, let prepare): prepare(answer)()
        case .removal(_, _, let reply): reply(answer)
        case .page(_, _, _, _, _, let reply): reply(nil)
        case .expiry: break
        case .rotation(let reply): reply(.failed(.unavailable))
        case .compaction(let reply): reply(.failed)
        case .survey(let reply): reply(nil)
        case .room(_, let reply): reply(false)
        }
    }
}
