import WakeModel
import WakeSodium

/// The push tokens that this round has woken, as 64-bit keyed hashes in memory: one push token
/// under many ids is one wake-up. A key of its own for every round: nothing in here can be
/// compared with anything else, and nothing of it is ever written.
///
/// 8 bytes a slot, at most two thirds full: 12 to 24 bytes a push token. Two of 10 million push
/// tokens share a hash with a chance of 3 in a million; one of the two would then wait for the next
/// round.
struct SeenTokens {
    private let hash = ShortHash()
    /// Open addressing; 0 is a free slot.
    private var slots: [UInt64]
    private(set) var count = 0
    private let limit: Int

    /// - Parameter limit: hashes kept at most; of push tokens beyond it nothing is remembered, and
    ///   each of their ids gets a wake-up.
    init(limit: Int = Limits.seenTokens) {
        self.limit = limit
        slots = [UInt64](repeating: 0, count: 1024)
    }

    /// Bytes in use.
    var byteCount: Int { slots.count * 8 }

    /// - Returns: false when the push token was inserted before.
    mutating func insert(_ token: PushToken) -> Bool {
        let value = token.bytes.withSpan { bytes in
            // The service decides too: bytes of one service mean nothing to another.
            hash.hash(bytes) ^ UInt64(token.service.rawValue)
        }
        return insert(value == 0 ? 1 : value)
    }

    private mutating func insert(_ value: UInt64) -> Bool {
        let place = find(value)
        if slots[place] == value { return false }
        guard count < limit else { return true }
        slots[place] = value
        count += 1
        if count * 3 > slots.count * 2 { grow() }
        return true
    }

    /// The slot of a value, or the free one where it goes.
    private func find(_ value: UInt64) -> Int {
        let mask = slots.count - 1
        var place = Int(truncatingIfNeeded: value) & mask
        while slots[place] != 0, slots[place] != value { place = (place + 1) & mask }
        return place
    }

    private mutating func grow() {
        let values = slots
        slots = [UInt64](repeating: 0, count: values.count * 2)
        for value in values where value != 0 { slots[find(value)] = value }
    }
}
