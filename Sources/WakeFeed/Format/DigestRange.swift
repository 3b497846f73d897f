/// The chance that a secret matches a batch it is not published in: at most 2⁻ᵇⁱᵗˢ for each secret
/// and batch, however many digests the batch has.
public struct FalseMatchBudget: Sendable, Hashable {
    /// 40 to 54.
    public let bits: Int

    /// 2⁻⁴⁸: for a thousand secrets and all batches that a head can name, 2 in 10⁹.
    public static let standard = FalseMatchBudget(48)

    /// - Parameter bits: nil outside `FeedLimits.falseMatchBits`.
    public init?(bits: Int) {
        guard FeedLimits.falseMatchBits.contains(bits) else { return nil }
        self.init(bits)
    }

    private init(_ bits: Int) { self.bits = bits }

    /// The most digests in a batch: a value has at most 64 bits.
    package var mostDigests: Int { 1 << (64 - bits) }
}

/// The numbers that stand for digests in one batch: `count` × 2ᵇⁱᵗˢ values, of which `count` are
/// published, so that a random one is published with a probability of 2⁻ᵇⁱᵗˢ.
package struct DigestRange: Sendable, Hashable {
    /// Published values: a multiple of 1024.
    package let count: Int
    package let budget: FalseMatchBudget

    package init(count: Int, budget: FalseMatchBudget) {
        precondition(count > 0 && count <= budget.mostDigests)
        self.count = count
        self.budget = budget
    }

    /// The largest value.
    var last: UInt64 { UInt64(count - 1) &<< UInt64(budget.bits) | remainderMask }

    /// The bits of the largest value.
    var bitWidth: Int { UInt64.bitWidth - last.leadingZeroBitCount }

    /// Covers the part of a difference that is written as it is.
    var remainderMask: UInt64 { 1 &<< UInt64(budget.bits) - 1 }

    /// The digest, as a fraction of 2¹²⁸, times the number of values: even digests give even
    /// values, and their order stays.
    package func value(of digest: Digest) -> UInt64 {
        let high = digest.high.multipliedFullWidth(by: UInt64(count))
        let low = digest.low.multipliedFullWidth(by: UInt64(count))
        let (middle, carry) = high.low.addingReportingOverflow(low.high)
        let top = high.high + (carry ? 1 : 0)
        let bits = UInt64(budget.bits)
        return top &<< bits | middle &>> (64 - bits)
    }

    /// The bytes that the code of `count` values can have. Each value takes its bits, a one, and a
    /// zero for each of the 2ᵇⁱᵗˢ-th parts of the range that lie between it and the one before.
    package var codeBytes: ClosedRange<Int> {
        let multiple = FeedLimits.digestMultiple
        precondition(count % multiple == 0)
        let parts = count / multiple * (multiple / 8)
        return parts * (budget.bits + 1)...parts * (budget.bits + 2)
    }
}
