package import WakeModel

/// What a client can ask of the store.
package enum StoreOperation: Sendable {
    /// Create, move to another push token, or renew: one verb for all.
    case register(InstanceToken, PushToken)
    case delete(InstanceToken)
    case read(InstanceToken)
}

/// What the store answers, once the answer is durable.
package enum StoreAnswer: Sendable, Equatable {
    /// Registered or forgotten; after a delete the bytes are in no file of the store.
    case done
    case stored(StoredRegistration?)
    /// No room for another registration. Nothing was stored.
    case full
    /// The files cannot be written or read now. Whether the operation took effect is unknown;
    /// every operation may be repeated.
    case unavailable
    /// Too many operations wait already. Nothing was done.
    case overloaded
}

/// One row as a broadcast needs it.
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

/// Counts of one batch.
package struct BatchReport: Sendable, Equatable {
    package var operations = 0
    package var registers = 0
    package var deletes = 0
    /// Statements run between BEGIN and COMMIT.
    package var statements = 0
    /// Rows deleted or overwritten.
    package var erased = 0
    /// Pages written to the log.
    package var pages = 0
    /// Whether the log was emptied before the answers.
    package var truncated = false
}
