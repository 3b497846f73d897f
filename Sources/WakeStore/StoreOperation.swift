package import WakeModel

package enum StoreOperation: Sendable {
    /// Create, move to another push token, or renew: one verb for all.
    case register(InstanceToken, PushToken)
    case delete(InstanceToken)
    case read(InstanceToken)
}

/// The answer to an operation, given when it is durable.
package enum StoreAnswer: Sendable, Equatable {
    /// Registered or forgotten; after a delete the bytes are in no file of the store.
    case done
    case stored(StoredRegistration?)
    /// No room for another registration. Nothing was stored.
    case full
    /// The files cannot be used now; the operation may have taken effect and may be repeated.
    case unavailable
    /// Too many operations wait already. Nothing was done.
    case overloaded
}

/// A row of a page of a broadcast.
package struct StoreRow: Sendable {
    package let id: [UInt8]
    /// Changes with every renewal: the handle of `removeIfUnchanged`.
    package let sealed: [UInt8]
    package let token: PushToken
}

/// A page of a broadcast.
package struct StorePage: Sendable {
    package let rows: [StoreRow]
    /// Where the next page begins; nil after the last.
    package let last: [UInt8]?
}

enum WriterMessage: Sendable {
    case operation(StoreOperation, answer: @Sendable (StoreAnswer) -> Void)
    case removal(Generation, id: [UInt8], sealed: [UInt8], answer: @Sendable (StoreAnswer) -> Void)
    case page(Generation, after: [UInt8], limit: Int, answer: @Sendable (RawPage?) -> Void)
    /// The next slice of the generation that is being dropped; the writer's own.
    case expiry(rows: Int)
    case rotation(answer: @Sendable (RotationOutcome) -> Void)
    case compaction(answer: @Sendable (CompactionOutcome) -> Void)
    case survey(answer: @Sendable (StoreSurvey?) -> Void)

    /// True for what is part of a transaction; the rest is done between two.
    var isOperation: Bool {
        switch self {
        case .operation, .removal, .expiry: true
        case .page, .rotation, .compaction, .survey: false
        }
    }

    /// - Parameter answer: only an operation can get another one than a refusal.
    func answer(_ answer: StoreAnswer) {
        switch self {
        case .operation(_, let reply), .removal(_, _, _, let reply): reply(answer)
        case .page(_, _, _, let reply): reply(nil)
        case .expiry: break
        case .rotation(let reply): reply(.failed(.unavailable))
        case .compaction(let reply): reply(.failed)
        case .survey(let reply): reply(nil)
        }
    }
}

/// Rows as they are stored, and the keys with which the caller opens them.
struct RawPage: Sendable {
    let rows: [(id: [UInt8], sealed: [UInt8])]
    let keys: GenerationKeys
}
