/// What the client may do with streams: announced in SETTINGS, in force once acknowledged
/// (RFC 9113 §6.5.3).
struct StreamLimits {
    /// Streams it may open; before its first acknowledgement, any number.
    private(set) var streams = Int.max
    /// What it may send on a new stream before we give more.
    private(set) var window = 65_535
    /// Streams named last.
    private(set) var announced = 0
    private var pending: [(streams: Int, window: Int?)] = []

    mutating func announce(streams: Int, window: Int?) {
        announced = streams
        pending.append((streams, window))
    }

    /// - Returns: by how much windows change; nil when there was nothing to acknowledge.
    mutating func acknowledged() -> Int? {
        guard let next = pending.first else { return nil }
        pending.removeFirst()
        streams = next.streams
        let change = (next.window ?? window) - window
        window += change
        return change
    }
}
