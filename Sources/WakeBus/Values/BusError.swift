/// Why a connection, a call or a message failed. Nothing of what was on the wire is in here.
package enum BusError: Error, Equatable {
    /// Neither `DBUS_SESSION_BUS_ADDRESS` nor `XDG_RUNTIME_DIR` is set.
    case noAddress
    /// An address that is none.
    case badAddress
    /// Only addresses of transports that we do not speak: `tcp:`, `unixexec:` and so on.
    case unsupportedAddress
    /// The socket: an error number of `connect(2)`.
    case unreachable(Int32)
    /// The kernel has no descriptor or thread left: an error number.
    case system(Int32)
    /// The bus does not accept us.
    case refused
    /// Whoever listens there does not answer as a bus does.
    case noBus
    /// Bytes, or a message to be sent, against the protocol.
    case malformed(BusProblem)
    /// A message beyond `BusLimits`, to us or from us.
    case tooLarge
    /// More calls or bytes wait than `BusLimits` allows; signals of the bus were not read in time.
    case overflow
    /// The call was answered with an error.
    case failed(BusFailure)
    /// The answer's values are not of the types that the method answers with.
    case unexpectedAnswer
    case timedOut
    /// The calling task was cancelled.
    case cancelled
    /// The connection has ended.
    case closed
}

/// What is wrong with bytes that are no message.
package enum BusProblem: Equatable, Sendable {
    case truncated
    /// Bytes are left where there should be none.
    case excess
    case padding
    case byteOrder
    case version
    /// Kind 0, or a reply without the serial it answers, and so on.
    case header
    case serial
    case signature
    /// A value that is not of the type its signature says.
    case type
    case depth
    case boolean
    case text
    case objectPath
    case name
    case arrayLength
    case messageLength
    /// Descriptors were sent, which we never agreed to.
    case descriptors
}

/// An error reply's name, as far as somebody acts on it.
package enum BusFailure: Equatable, Sendable {
    case unknownMethod
    case unknownObject
    case unknownInterface
    case invalidArguments
    /// Nobody has the name, and nobody can be started for it.
    case serviceUnknown
    case nameHasNoOwner
    /// A program was to be started for the name and did not take it.
    case notStarted
    case noReply
    case accessDenied
    case limitsExceeded
    case other

    init(errorName: [UInt8]) {
        let prefix = Array("org.freedesktop.DBus.Error.".utf8)
        guard errorName.starts(with: prefix) else {
            self = .other
            return
        }
        // org.freedesktop.DBus.Error.Spawn.ExecFailed and its kind.
        switch String(decoding: errorName.dropFirst(prefix.count), as: UTF8.self) {
        case "UnknownMethod": self = .unknownMethod
        case "UnknownObject": self = .unknownObject
        case "UnknownInterface": self = .unknownInterface
        case "InvalidArgs": self = .invalidArguments
        case "ServiceUnknown": self = .serviceUnknown
        case "NameHasNoOwner": self = .nameHasNoOwner
        case "NoReply", "Timeout", "TimedOut", "Disconnected": self = .noReply
        case "AccessDenied", "AuthFailed": self = .accessDenied
        case "LimitsExceeded", "NoMemory": self = .limitsExceeded
        case let word: self = word.hasPrefix("Spawn.") ? .notStarted : .other
        }
    }

    /// The name to answer with.
    var errorName: [UInt8] {
        let word =
            switch self {
            case .unknownMethod: "UnknownMethod"
            case .unknownObject: "UnknownObject"
            case .unknownInterface: "UnknownInterface"
            case .invalidArguments: "InvalidArgs"
            case .serviceUnknown: "ServiceUnknown"
            case .nameHasNoOwner: "NameHasNoOwner"
            case .notStarted: "Spawn.Failed"
            case .noReply: "NoReply"
            case .accessDenied: "AccessDenied"
            case .limitsExceeded: "LimitsExceeded"
            case .other: "Failed"
            }
        return Array("org.freedesktop.DBus.Error.\(word)".utf8)
    }
}
