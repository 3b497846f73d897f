/// Places in the deadline table.
enum TimerSlot {
    /// The end of draining.
    static let drain = 0
    /// Accepting again after descriptors ran out.
    static let resume = 1
    /// Of the connection in slot 0; the others follow.
    static let first = 2
}
