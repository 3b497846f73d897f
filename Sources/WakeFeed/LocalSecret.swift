package import WakeModel

/// Something only this device knows and looks for in the feed. It never leaves the device.
public struct LocalSecret: Sendable {
    /// The app's own name for it, told back with a match.
    public let id: String
    package let bytes: SecretBytes

    /// Copies the bytes into memory that is wiped on release.
    /// - Returns: nil unless there are 16 to 1024 bytes.
    public init?(id: String, bytes: Span<UInt8>) {
        guard FeedLimits.secretBytes.contains(bytes.count) else { return nil }
        self.init(id: id, bytes: SecretBytes(bytes))
    }

    package init(id: String, bytes: SecretBytes) {
        precondition(FeedLimits.secretBytes.contains(bytes.count))
        self.id = id
        self.bytes = bytes
    }
}

extension LocalSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Says nothing of what it holds.
    public var description: String { "(local secret)" }
    /// Says nothing of what it holds.
    public var debugDescription: String { description }
    /// Shows nothing of what it holds.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
