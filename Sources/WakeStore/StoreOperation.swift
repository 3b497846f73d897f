package import WakeModel

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

enum WriterMessage: Sendable {
    case operation(StoreOperation, prepare: @Sendable (StoreAnswer) -> AnswerGrid.Release)
    case removal(Generation, RowIdentity, answer: @Sendable (StoreAnswer) -> Void)
    case page(
        Generation, [IDRange], limit: Int, memory: PageMemory,
        answer: @Sendable (RawPage?) -> Void)
    case rotation(answer: @Sendable (RotationOutcome) -> Void)
    case survey(answer: @Sendable (StoreSurvey?) -> Void)
    case room(bytes: Int, answer: @Sendable (Bool) -> Void)

    /// True for what is part of a transaction; the rest is done between two.
    var isOperation: Bool {
        switch self {
        case .operation, .removal: true
        case .page, .rotation, .survey, .room: false
        }
    }

    /// - Parameter answer: only an operation can get another one than a refusal.
    func answer(_ answer: StoreAnswer) {
        switch self {
        case .operation(_, let prepare): prepare(answer)()
        case .removal(_, _, let reply): reply(answer)
        case .page(_, _, _, _, let reply): reply(nil)
        case .rotation(let reply): reply(.failed(.unavailable))
        case .survey(let reply): reply(nil)
        case .room(_, let reply): reply(false)
        }
    }
}
