import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed

@Suite("Code of a batch's digests")
struct RiceCodeTests {
    private static func range(_ count: Int, _ bits: Int) throws -> DigestRange {
        DigestRange(count: count, budget: try #require(FalseMatchBudget(bits: bits)))
    }

    /// The values of a code that is cut into pieces, and whether it is one.
    private static func decode(
        _ bytes: [UInt8], _ range: DigestRange, _ piece: () -> Int
    ) -> (values: [UInt64], isComplete: Bool) {
        var decoder = RiceDecoder(range: range, floor: 0)
        var values: [UInt64] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + piece())
            decoder.decode(bytes.span.extracting(start..<end)) { group, index in
                #expect(index == values.count)
                for item in 0..<8 { values.append(group[item]) }
                return 0
            }
            start = end
        }
        #expect(decoder.count == values.count)
        return (values, decoder.isComplete)
    }

    /// Ascending values: even ones, crowds with long ways between them, or the ends of the range.
    private static func values(
        _ range: DigestRange, _ kind: Int, _ random: inout SplitMix64
    ) -> [UInt64] {
        var values: Set<UInt64> = kind % 2 == 0 ? [] : [0, range.last]
        let crowd = UInt64.random(in: 0...range.last, using: &random)
        while values.count < range.count {
            switch kind {
            case 0, 1: values.insert(UInt64.random(in: 0...range.last, using: &random))
            case 2, 3:
                let near = crowd &+ UInt64.random(in: 0..<8192, using: &random)
                values.insert(min(near, range.last &- UInt64(values.count)))
            case 4: values.insert(UInt64(values.count))
            default: values.insert(range.last - UInt64(values.count))
            }
        }
        return values.sorted()
    }

    @Test("is what the document says, bit by bit, and comes back, however it is cut")
    func roundTrip() throws {
        var random = SplitMix64(seed: 31)
        for round in 0..<60 {
            let range = try Self.range([1024, 1024, 3072][round % 3], 40 + round * 7 % 13)
            let values = Self.values(range, round % 6, &random)
            var bytes: [UInt8] = []
            RiceCode.append(values, of: range, to: &bytes)
            #expect(bytes == PlainCode.bytes(values.map { UInt128($0) }, bits: range.budget.bits))
            #expect(range.codeBytes.contains(bytes.count))
            for most in [1, 5, 16, 17, 100, 1 << 20] {
                let read = Self.decode(bytes, range) { Int.random(in: 1...most, using: &random) }
                #expect(read.isComplete && read.values == values, "round \(round)")
            }
        }
    }

    @Test("holds the largest values that 64 bits hold, for every number of bits")
    func extremes() throws {
        for bits in FeedLimits.falseMatchBits {
            let budget = try #require(FalseMatchBudget(bits: bits))
            let range = DigestRange(count: min(budget.mostDigests, 2048), budget: budget)
            var random = SplitMix64(seed: UInt64(bits))
            for kind in 0..<6 {
                let values = Self.values(range, kind, &random)
                var bytes: [UInt8] = []
                RiceCode.append(values, of: range, to: &bytes)
                let read = Self.decode(bytes, range) { 1000 }
                #expect(read.isComplete && read.values == values, "\(bits) bits")
            }
        }
        let full = try Self.range(65_536, 48)
        #expect(full.last == .max && full.bitWidth == 64)
        var bytes: [UInt8] = []
        let values = (0..<65_536).map { UInt64.max - 65_535 + UInt64($0) }
        RiceCode.append(values, of: full, to: &bytes)
        #expect(Self.decode(bytes, full) { 4096 }.values == values)
        #expect(bytes.count == full.codeBytes.upperBound)
    }

    @Test("of changed bits, what is taken is the one code of other values; cuts change nothing")
    func changed() throws {
        var random = SplitMix64(seed: 33)
        var accepted = 0
        for round in 0..<300 {
            let range = try Self.range(1024, 40 + round % 15)
            let values = Self.values(range, round % 6, &random)
            var bytes: [UInt8] = []
            RiceCode.append(values, of: range, to: &bytes)
            switch round % 4 {
            case 0:
                let start = Int.random(in: 0..<bytes.count, using: &random)
                for byte in start..<min(bytes.count, start + 40) where round % 8 == 0 {
                    bytes[byte] = 0
                }
                bytes[start] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 1: bytes[bytes.count - 1] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 2: bytes.removeLast(Int.random(in: 1...20, using: &random))
            default: bytes += [UInt8](repeating: UInt8(round % 2), count: 1)
            }
            let whole = Self.decode(bytes, range) { bytes.count }
            let cut = Self.decode(bytes, range) { Int.random(in: 1...40, using: &random) }
            #expect(whole.isComplete == cut.isComplete, "round \(round)")
            #expect(whole.values == cut.values, "round \(round)")
            guard whole.isComplete else { continue }
            accepted += 1
            #expect(zip(whole.values, whole.values.dropFirst()).allSatisfy { $0 < $1 })
            #expect(
                whole.values.count == range.count && whole.values[range.count - 1] <= range.last)
            var again: [UInt8] = []
            RiceCode.append(whole.values, of: range, to: &again)
            #expect(again == bytes, "round \(round)")
        }
        #expect(accepted > 20 && accepted < 280)
    }

    @Test("the value of a digest is its share of the range, in the digests' order")
    func share() throws {
        var random = SplitMix64(seed: 34)
        for round in 0..<2000 {
            let bits = 40 + round % 15
            let most = 1 << (64 - bits)
            let count = min(Int.random(in: 1...most, using: &random), most)
            let range = try Self.range(count, bits)
            let digest = Digest(
                high: round % 7 == 0 ? .max : random.next(),
                low: round % 5 == 0 ? .max : random.next())
            // count × 2^bits × digest / 2^128, in two halves.
            let (high, low) = UInt128(digest.high).dividingShare(digest.low, count, bits)
            #expect(high == 0 && range.value(of: digest) == low)
            #expect(range.value(of: digest) <= range.last)
        }
        let range = try Self.range(1024, 40)
        #expect(range.value(of: Digest(high: .max, low: .max)) == range.last)
        #expect(range.value(of: Digest(high: 0, low: .max)) == 0)
    }

    @Test(
        "random digests cost 1.6 bits more than their budget, or 0.14 more than the least possible")
    func size() throws {
        var random = SplitMix64(seed: 35)
        let range = try Self.range(65_536, 48)
        let values = (0..<range.count).map { _ in
            range.value(of: Digest(high: random.next(), low: random.next()))
        }
        var bytes: [UInt8] = []
        RiceCode.append(values.sorted(), of: range, to: &bytes)
        let each = Double(bytes.count) * 8 / Double(range.count)
        #expect(abs(each - 49.582) < 0.01, "\(each)")
    }

    @Test("random digests fill their range evenly, on which the chance of a false match rests")
    func even() throws {
        var random = SplitMix64(seed: 36)
        let range = try Self.range(3072, 40)
        var seen = [0, 0, 0, 0]
        for _ in 0..<100_000 {
            let value = range.value(of: Digest(high: random.next(), low: random.next()))
            seen[Int(value / (range.last / 4 + 1))] += 1
        }
        // Even quarters: 25,000 each, with a deviation of 137.
        #expect(seen.allSatisfy { abs($0 - 25_000) < 800 }, "\(seen)")
    }

    @Test("numbers of bits outside the format are none")
    func budgets() {
        for bits in [-1, 0, 39, 55, 64, 255] { #expect(FalseMatchBudget(bits: bits) == nil) }
        for bits in 40...54 { #expect(FalseMatchBudget(bits: bits)?.bits == bits) }
    }
}

extension UInt128 {
    /// The product of (self × 2⁶⁴ + low) and `count`, shifted right by 128 - `bits`.
    fileprivate func dividingShare(_ low: UInt64, _ count: Int, _ bits: Int) -> (UInt64, UInt64) {
        let count = UInt128(count)
        let bottom = UInt128(low) * count
        let top = self * count + bottom >> 64
        // top × 2⁶⁴ + …: of it the bits from 128 - bits on.
        let shifted = top >> UInt128(64 - bits)
        return (UInt64(shifted >> 64), UInt64(truncatingIfNeeded: shifted))
    }
}
