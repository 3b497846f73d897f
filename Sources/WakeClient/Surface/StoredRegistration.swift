internal import WakeModel

/// Everything the service holds under this client's instance token, raw and decoded.
public struct StoredRegistration: Sendable, Equatable {
    /// Which of the service's two pairs of table and keys holds the row.
    public enum Generation: String, Sendable {
        /// Where every registration is written.
        case current
        /// Destroyed by the next rotation unless renewed.
        case previous
    }

    /// One row.
    public struct Row: Sendable, Equatable {
        /// The generation that holds the row.
        public let generation: Generation
        /// The id column, 32 bytes.
        public let id: [UInt8]
        /// The sealed column, 552 bytes.
        public let sealed: [UInt8]
        /// What the sealed column opens to.
        public let token: PushToken
    }

    /// nil when the service holds nothing.
    public let row: Row?
    /// Hexadecimal hash of the service's privacy policy in force.
    public let policyHash: String

    init(_ answer: RegistrationAnswer) {
        row = answer.stored.map { stored in
            Row(
                generation: stored.generation == .current ? .current : .previous, id: stored.id,
                sealed: stored.sealed, token: PushToken(stored.token))
        }
        policyHash = answer.policyHash
    }
}

extension StoredRegistration.Row: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Never the row.
    public var description: String { "(registration)" }
    /// Never the row.
    public var debugDescription: String { description }
    /// Never the row.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
