/// Counts of whole numbers, such as nanoseconds, in buckets of at most 1/64 of their value: exact
/// below 64, then 64 buckets for each power of two. It has one size however much it counts.
package struct Histogram: Sendable, Equatable {
    private static let bits = 6
    private static let slots = (64 - bits + 1) << bits

    private var counts: [Int] = []
    package private(set) var count = 0
    /// The largest number, exactly.
    package private(set) var most: UInt64 = 0

    package init() {}

    package init(_ values: some Sequence<UInt64>) {
        for value in values { record(value) }
    }

    package var isEmpty: Bool { count == 0 }

    package mutating func record(_ value: UInt64) {
        if counts.isEmpty { counts = [Int](repeating: 0, count: Self.slots) }
        counts[Self.slot(value)] += 1
        count += 1
        most = max(most, value)
    }

    package mutating func add(_ other: Histogram) {
        guard !other.isEmpty else { return }
        if counts.isEmpty { counts = [Int](repeating: 0, count: Self.slots) }
        for slot in counts.indices { counts[slot] += other.counts[slot] }
        count += other.count
        most = max(most, other.most)
    }

    /// The number that this share of all do not exceed, to 1/64: the upper end of its bucket. 0 of
    /// nothing.
    package func value(at share: Double) -> UInt64 {
        let rank = max(1, Int((share * Double(count)).rounded(.up)))
        guard rank < count else { return most }
        var seen = 0
        for (slot, count) in counts.enumerated() {
            seen += count
            if seen >= rank { return min(most, Self.upperEnd(slot)) }
        }
        return most
    }

    private static func slot(_ value: UInt64) -> Int {
        guard value >> bits > 0 else { return Int(value) }
        let shift = 63 - bits - value.leadingZeroBitCount
        return (shift + 1) << bits + Int(value >> UInt64(shift)) & (1 << bits - 1)
    }

    private static func upperEnd(_ slot: Int) -> UInt64 {
        guard slot >> bits > 0 else { return UInt64(slot) }
        let shift = UInt64(slot >> bits - 1)
        let start = UInt64(1 << bits | slot & (1 << bits - 1)) << shift
        return start + (1 << shift - 1)
    }
}
