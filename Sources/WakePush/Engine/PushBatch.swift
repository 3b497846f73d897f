/// Pushes as they are handed in: many at a time, their tokens in one arena.
package struct PushBatch: Sendable, CustomStringConvertible, CustomReflectable {
    /// The caller's own number; comes back with every outcome.
    package let id: UInt32
    private(set) var tokens: [UInt8] = []
    private(set) var ends: [UInt32] = []

    package init(id: UInt32, capacity: Int = 0, tokenBytes: Int = 0) {
        self.id = id
        tokens.reserveCapacity(capacity * tokenBytes)
        ends.reserveCapacity(capacity)
    }

    package var count: Int { ends.count }

    /// Adds a push to `token`, the bytes that complete the request's path or body.
    package mutating func append(_ token: [UInt8]) { append(token.span) }

    package mutating func append(_ token: Span<UInt8>) {
        precondition(token.count <= RequestShape.tokenBytes, "a push token longer than allowed")
        tokens.append(span: token)
        ends.append(UInt32(tokens.count))
    }

    /// The token of the push at `order`.
    package func token(_ order: Int) -> ArraySlice<UInt8> { tokens[place(order)] }

    func place(_ order: Int) -> Range<Int> {
        (order == 0 ? 0 : Int(ends[order - 1]))..<Int(ends[order])
    }

    mutating func wipe() { tokens.wipe() }

    /// Push tokens are never shown.
    package var description: String { "PushBatch(\(ends.count))" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
