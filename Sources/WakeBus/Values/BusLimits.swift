/// Every bound of the protocol and of ours, with its reason. D-Bus Specification, "Message
/// Protocol": the protocol's own are far beyond what a message to us has reason to hold.
package enum BusLimits {
    /// Bytes of a signature.
    package static let signatureBytes = 255
    /// Bytes of a bus, interface, member or error name.
    package static let nameBytes = 255
    /// `a` within `a` in one signature.
    package static let arrayDepth = 32
    /// `(` within `(` in one signature.
    package static let structureDepth = 32
    /// Containers within containers, variants and what they hold included.
    package static let totalDepth = 64
    /// Bytes of an array's elements, by the protocol.
    package static let arrayBytes = 1 << 26
    /// Bytes of a message, by the protocol: a peer that announces more has lost its place.
    package static let protocolMessageBytes = 1 << 27

    /// Bytes of a message that we keep. A push message is 4 KiB.
    package static let messageBytes = 1 << 20
    /// Bytes of the header fields that we keep: some names of 255 bytes, and a path.
    package static let headerBytes = 1 << 16
    /// Values in one body: each takes some 40 bytes of memory, however small it was on the wire.
    package static let values = 1 << 16
    /// Messages that wait for whoever reads `BusConnection.messages`, and their bytes.
    package static let waitingMessages = 256
    package static let waitingBytes = 4 << 20
    /// Bytes that wait for the bus to take them.
    package static let outputBytes = 4 << 20
    /// Calls that wait for their replies.
    package static let pendingCalls = 1024
    /// Bytes of one line of the handshake.
    package static let handshakeLineBytes = 1024
    /// Seconds from the connection's begin until the bus has told our name.
    package static let openingSeconds = 25
}
