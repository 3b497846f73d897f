package import WakeModel
import WakePush
package import WakeStore
import WakeSystem

/// The push tokens that a run has woken, as 64-bit keyed hashes in memory, with a key for each run:
/// 12 to 24 bytes each. Among 10 million push tokens two share a hash with a probability of 3 in a
/// million; one of the two then waits for the next run.
package struct TokenDeduplicator {
    private let hash: ShortHash
    /// An open-addressing table; 0 is a free slot.
    private var slots: [UInt64]
    private(set) var count = 0
    private let limit: Int
    /// Of slots that were read ahead: with a use of them, the reads are not optimised away.
    private var readAhead: UInt64 = 0

    /// - Parameters:
    ///   - expected: hashes that the table takes without growing: to grow takes half as much memory
    ///     again, and a second insertion of each.
    ///   - limit: hashes kept; each id of a push token beyond it gets a wake-up.
    package init(expecting expected: Int = 0, limit: Int = Limits.deduplicatedTokens) {
        self.init(ShortHash(), expecting: min(expected, limit), limit: limit)
    }

    /// An empty one, for hashes of another.
    init(sharingKeyOf other: TokenDeduplicator, expecting expected: Int = 0) {
        self.init(other.hash, expecting: min(expected, other.limit), limit: other.limit)
    }

    private init(_ hash: ShortHash, expecting expected: Int, limit: Int) {
        self.hash = hash
        self.limit = limit
        var count = 1024
        while expected * 3 > count * 2 { count *= 2 }
        slots = [UInt64](repeating: 0, count: count)
    }

    var byteCount: Int { slots.count * 8 }

    /// The hashes of rows' push tokens that will be inserted; 0 for those of other push services.
    /// Their slots are anywhere in a table that no cache holds: reading them here, many at once, is
    /// several times faster than one by one.
    /// - Parameter service: nil for none.
    package mutating func hashes(of rows: [StoreRow], for service: PushService?) -> [UInt64] {
        var hashes: [UInt64] = []
        hashes.reserveCapacity(rows.count)
        hash.withKey { key in
            for index in rows.indices {
                let isOwn = rows[index].token.service == service
                hashes.append(isOwn ? Self.value(of: rows[index].token, key) : 0)
            }
        }
        let mask = slots.count - 1
        for hash in hashes where hash != 0 {
            readAhead ^= slots[Int(truncatingIfNeeded: hash) & mask]
        }
        return hashes
    }

    /// - Returns: whether the push token is new. Equal bytes for two services are two push tokens.
    package mutating func insert(hash value: UInt64) -> Bool {
        let slot = slot(of: value)
        if slots[slot] == value { return false }
        guard count < limit else { return true }
        slots[slot] = value
        count += 1
        if count * 3 > slots.count * 2 { grow() }
        return true
    }

    func contains(_ token: PushToken) -> Bool {
        guard count > 0 else { return false }
        return contains(hash: hash.withKey { Self.value(of: token, $0) })
    }

    func contains(hash value: UInt64) -> Bool { slots[slot(of: value)] == value }

    /// Forgets a push token that was not woken after all.
    mutating func remove(hash value: UInt64) {
        let mask = slots.count - 1
        var free = slot(of: value)
        guard slots[free] != 0 else { return }
        count -= 1
        // Linear probing: what follows without a gap moves up, unless its place is behind the gap.
        var next = (free + 1) & mask
        while slots[next] != 0 {
            let home = Int(truncatingIfNeeded: slots[next]) & mask
            if (next - home) & mask >= (next - free) & mask {
                slots[free] = slots[next]
                free = next
            }
            next = (next + 1) & mask
        }
        slots[free] = 0
    }

    private static func value(of token: PushToken, _ key: Span<UInt8>) -> UInt64 {
        // An endpoint with other keys, or spelled otherwise, is the same device.
        let hash = token.withCanonicalAddress { ShortHash.hash($0, key: key) }
        return max(hash ^ UInt64(token.service.rawValue), 1)
    }

    private func slot(of value: UInt64) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: value) & mask
        while slots[slot] != 0, slots[slot] != value { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow() {
        let values = slots
        slots = [UInt64](repeating: 0, count: values.count * 2)
        for value in values where value != 0 { slots[slot(of: value)] = value }
    }
}
