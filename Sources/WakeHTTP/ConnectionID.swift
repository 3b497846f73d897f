/// A place in the connection table and how often it was given out before: a name that is never used
/// twice, so that a late reply or a stale epoll event meets nobody instead of a stranger.
struct ConnectionID: Sendable, Hashable {
    /// Slot in the low 32 bits, generation above; the top bit is left to listeners.
    let rawValue: UInt64

    init(slot: Int, generation: UInt32) {
        rawValue = UInt64(generation & 0x7FFF_FFFF) << 32 | UInt64(UInt32(slot))
    }

    init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    var slot: Int { Int(rawValue & 0xFFFF_FFFF) }
    var generation: UInt32 { UInt32(rawValue >> 32) }
}
