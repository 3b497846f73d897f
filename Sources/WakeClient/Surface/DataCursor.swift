/// How far a `DataSource` was checked, in the app's own words: bytes that the client stores and
/// hands back, and never looks into.
public struct DataCursor: Sendable, Hashable {
    /// Bytes that a cursor may have; a page with a longer one fails.
    public static let maximumByteCount = 4096

    /// As the app wrote them.
    public let bytes: [UInt8]

    /// A cursor of the app's own making.
    /// - Parameter bytes: at most `maximumByteCount`.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }
}

extension DataCursor: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Says nothing of what it holds.
    public var description: String { "(data cursor)" }
    /// Says nothing of what it holds.
    public var debugDescription: String { description }
    /// Shows nothing of what it holds.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
