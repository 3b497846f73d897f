/// The reason why a connection, a call or a message failed; no content of a message.
package enum BusError: Error, Equatable {
    /// Neither `DBUS_SESSION_BUS_ADDRESS` nor `XDG_RUNTIME_DIR` is set.
    case noAddress
    case badAddress
    /// Only addresses of unsupported transports: `tcp:`, `unixexec:` and so on.
    case unsupportedAddress
    /// The socket: an error number of `connect(2)`.
    case unreachable(Int32)
    /// The kernel has no descriptor or thread left: an error number.
    case system(Int32)
    /// The bus refuses the authentication.
    case refused
    /// The listener does not answer as a bus does.
    case noBus
    /// Bytes, or a message to be sent, against the protocol.
    case malformed(BusProblem)
    /// A message beyond `BusLimits`, in either direction.
    case tooLarge
    /// More calls or bytes wait than `BusLimits` allows, or signals of the bus were read too late.
    case overflow
    /// The call was answered with an error.
    case failed(BusFailure)
    /// The answer's values are not of the types that the method answers with.
    case unexpectedAnswer
    case timedOut
    case cancelled
    case closed
}

/// The fault of bytes that are no message.
package enum BusProblem: Equatable, Sendable {
    case truncated
    /// Bytes are left where there should be none.
    case excess
    case padding, byteOrder, version
    /// Kind 0, or a reply without the serial it answers, and so on.
    case header
    case serial, signature
    /// A value that is not of the type its signature says.
    case type
    case depth, boolean, text, objectPath, name, arrayLength, messageLength
    /// Descriptors were sent, which was never negotiated.
    case descriptors
}

/// An error reply's name, as far as callers distinguish it.
package enum BusFailure: Equatable, Sendable {
    case unknownMethod, unknownObject, unknownInterface, unknownProperty, invalidArguments
    case readOnlyProperty
    /// The name has no owner and cannot be activated.
    case serviceUnknown
    case nameHasNoOwner
    /// The activated program did not take the name.
    case notStarted
    case noReply, accessDenied, limitsExceeded, other

    /// The names after `org.freedesktop.DBus.Error.`; the first of a case is that of answers.
    private static let names: [(name: String, failure: BusFailure)] = [
        ("UnknownMethod", .unknownMethod), ("UnknownObject", .unknownObject),
        ("UnknownInterface", .unknownInterface), ("InvalidArgs", .invalidArguments),
        ("UnknownProperty", .unknownProperty), ("PropertyReadOnly", .readOnlyProperty),
        ("ServiceUnknown", .serviceUnknown), ("NameHasNoOwner", .nameHasNoOwner),
        ("Spawn.Failed", .notStarted), ("NoReply", .noReply), ("Timeout", .noReply),
        ("TimedOut", .noReply), ("Disconnected", .noReply), ("AccessDenied", .accessDenied),
        ("AuthFailed", .accessDenied), ("LimitsExceeded", .limitsExceeded),
        ("NoMemory", .limitsExceeded), ("Failed", .other),
    ]
    private static let prefix = "org.freedesktop.DBus.Error."

    init(errorName: [UInt8]) {
        let name = String(decoding: errorName, as: UTF8.self)
        let rest = name.hasPrefix(Self.prefix) ? name.dropFirst(Self.prefix.count) : ""
        // Such as org.freedesktop.DBus.Error.Spawn.ExecFailed.
        let isSpawn = rest.hasPrefix("Spawn.")
        self = isSpawn ? .notStarted : Self.names.first { $0.name == rest }?.failure ?? .other
    }

    var errorName: [UInt8] {
        let name = Self.names.first { $0.failure == self }?.name ?? "Failed"
        return Array((Self.prefix + name).utf8)
    }
}

/// The bounds of the protocol (D-Bus Specification, "Message Protocol"), and lower ones.
package enum BusLimits {
    /// Bytes of a signature, and of a bus, interface, member or error name.
    package static let signatureBytes = 255
    package static let nameBytes = 255
    /// `a` within `a`, and `(` within `(`, in one signature.
    package static let arrayDepth = 32
    package static let structureDepth = 32
    /// Containers within containers, variants and what they hold included.
    package static let totalDepth = 64
    /// Bytes of an array's elements, by the protocol.
    package static let arrayBytes = 1 << 26
    /// Bytes of a message, by the protocol: a peer that announces more is out of step.
    package static let protocolMessageBytes = 1 << 27
    /// Bytes of a message that is kept. A push message is 4 KiB.
    package static let messageBytes = 1 << 20
    /// Bytes of the header fields that are kept: some names of 255 bytes, and a path.
    package static let headerBytes = 1 << 16
    /// Values in one body: each takes some 40 bytes of memory, however small it was on the wire.
    package static let values = 1 << 16
    /// Messages that wait for the reader of `BusConnection.messages`, and their bytes.
    package static let waitingMessages = 256
    package static let waitingBytes = 4 << 20
    /// Bytes that wait for the bus to take them.
    package static let outputBytes = 4 << 20
    package static let pendingCalls = 1024
    /// Bytes of one line of the authentication.
    package static let handshakeLineBytes = 1024
    /// Seconds until the bus has assigned a name.
    package static let openingSeconds = 25
}
