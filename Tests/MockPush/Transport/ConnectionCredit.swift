import WakePush

/// The window of the connection, all streams together (RFC 9113 §6.9).
struct ConnectionCredit {
    /// It begins so, and no SETTINGS changes it (RFC 9113 §6.9.2).
    private static let first = 65_535
    private static let share = 32_768

    /// What the window is kept at.
    private let size: Int
    private var left = first

    init(size: Int) { self.size = size }

    /// A window larger than the first one.
    mutating func open(into output: inout [UInt8]) {
        guard size > left else { return }
        FrameWriter.windowUpdate(stream: 0, increment: UInt32(size - left), into: &output)
        left = size
    }

    /// - Returns: false when the client sent more than it may.
    mutating func use(_ count: Int) -> Bool {
        left -= count
        return left >= 0
    }

    /// Opens the window to its size again once enough of it is used. One that is smaller than the
    /// first stays closed until that one is used up so far.
    mutating func give(isOpen: Bool, into output: inout [UInt8]) {
        let used = size - left
        guard isOpen, used > 0, used >= min(Self.share, size / 2) else { return }
        FrameWriter.windowUpdate(stream: 0, increment: UInt32(used), into: &output)
        left = size
    }
}
