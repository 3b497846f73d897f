private import Glibc

/// Byte counts at each position of one column of one table, and the look of single values.
struct ColumnStatistics {
    private let length: Int
    private var counts: [UInt32]
    private var rows = 0
    /// Counts of the value in hand.
    private var inValue = [UInt32](repeating: 0, count: 256)
    private let mostEqual: Int
    private let longestText: Int

    init(length: Int) {
        self.length = length
        counts = [UInt32](repeating: 0, count: length * 256)
        mostEqual = ChiSquareBounds.mostEqual(inValueOf: length)
        longestText = ChiSquareBounds.longestText(inValueOf: length)
    }

    /// Takes one value of the column; each kind of finding counts once a value.
    mutating func take(_ value: Span<UInt8>, _ findings: inout AuditFindings) {
        precondition(value.count == length)
        rows += 1
        for index in 0..<256 { inValue[index] = 0 }
        var text = 0
        var longestText = 0
        var equal = 0
        var longestEqual = 0
        var last = -1
        var row = 0
        for index in 0..<length {
            let byte = Int(value[index])
            counts[row + byte] &+= 1
            inValue[byte] &+= 1
            row += 256
            text = byte >= 0x20 && byte <= 0x7E ? text + 1 : 0
            if text > longestText { longestText = text }
            equal = byte == last ? equal + 1 : 1
            if equal > longestEqual { longestEqual = equal }
            last = byte
        }
        findings.note(.text, if: longestText > self.longestText)
        findings.note(.sameBytes, if: longestEqual >= ChiSquareBounds.equalRun)
        findings.note(.unevenRow, if: isUneven)
    }

    private var isUneven: Bool {
        if length >= ChiSquareBounds.chiSquareValueBytes {
            return ChiSquareBounds.statistic(inValue, from: 0, total: length)
                > ChiSquareBounds.chiSquareOfValue
        }
        return inValue.contains { $0 > UInt32(mostEqual) }
    }

    /// What shows only over all rows: of each position, and of the column as a whole.
    func finish(_ findings: inout AuditFindings) {
        guard rows > 0 else { return }
        var whole = [UInt32](repeating: 0, count: 256)
        let bound = Bound(total: rows)
        let mostSet = ChiSquareBounds.mostSet(among: rows)
        for start in stride(from: 0, to: counts.count, by: 256) {
            let isUneven =
                bound.isExceeded(counts, from: start) || isBitUneven(start, mostSet)
            findings.note(.unevenPosition, if: isUneven)
            for value in 0..<256 { whole[value] &+= counts[start + value] }
        }
        // A single value was looked at as such; a position of it says nothing.
        findings.note(.unevenColumn, if: Bound(total: rows * length).isExceeded(whole, from: 0))
    }

    /// Whether a bit of a position is set, or not set, more often than `most` times.
    private func isBitUneven(_ start: Int, _ most: Int) -> Bool {
        for bit in 0..<8 {
            var set = 0
            for value in 0..<256 where value & 1 << bit != 0 { set += Int(counts[start + value]) }
            if max(set, rows - set) > most { return true }
        }
        return false
    }

    /// The bound of the counts of 256 byte values.
    private struct Bound {
        let total: Int
        /// Of one byte value; for few of them.
        let most: UInt32

        init(total: Int) {
            self.total = total
            let isFew = total < ChiSquareBounds.tailCount
            most = isFew ? UInt32(ChiSquareBounds.mostEqual(among: total)) : .max
        }

        func isExceeded(_ counts: [UInt32], from start: Int) -> Bool {
            if total >= ChiSquareBounds.chiSquareCount {
                let statistic = ChiSquareBounds.statistic(counts, from: start, total: total)
                if !ChiSquareBounds.chiSquare.contains(statistic) { return true }
            }
            if most == .max { return false }
            for index in start..<start + 256 where counts[index] > most { return true }
            return false
        }
    }
}

/// Bounds that random bytes pass less than once in a million audits, all tests together.
enum ChiSquareBounds {
    /// Of one test over a whole column or position; an audit makes about 2,500 of them a table.
    private static let perTest = 1e-10
    /// Of one test over one value; a store has up to some 10 million of them.
    private static let perValue = 1e-17
    /// With fewer bytes Pearson's statistic is not asked for.
    static let chiSquareCount = 500
    /// From here on its tail is thin enough without a bound on the largest count.
    static let tailCount = 5 * 256

    /// Pearson's statistic, 255 degrees of freedom. With few expected the tail is heavier than that
    /// of chi-square: what 1e-10 gives is 126 and 492 for 500 bytes, 124 and 476 for 1,280
    /// (Chernoff bounds of Poisson counts, given their sum, cut off at ``mostEqual(among:)``); it
    /// narrows with more. Too even is as much a sign of structure as too uneven: a counter is.
    static let chiSquare = 115.0...495.0

    /// The same over one value, to find text and padding: Chernoff's bound for 632 bytes is 1e-19.
    static let chiSquareOfValue = 650.0

    /// The shortest value Pearson's statistic is asked about.
    static let chiSquareValueBytes = 256
    /// Equal bytes in a row that chance does not give: 632 / 256^9.
    static let equalRun = 10

    /// Pearson's statistic of 256 counts that are expected to be even.
    static func statistic(_ counts: [UInt32], from start: Int, total: Int) -> Double {
        let expected = Double(total) / 256
        var sum = 0.0
        for index in start..<start + 256 {
            let difference = Double(counts[index]) - expected
            sum += difference * difference
        }
        return sum / expected
    }

    /// How often a bit may be set among `total` values, or not (Hoeffding's bound), 1e-11 each.
    static func mostSet(among total: Int) -> Int {
        let n = Double(total)
        return Int(n / 2 + (n / 2 * log(2e11)).squareRoot())
    }

    /// How often one byte value, whichever, may occur among `total` over a column or position.
    static func mostEqual(among total: Int) -> Int { mostEqual(among: total, perTest) }
    /// The same within one value.
    static func mostEqual(inValueOf total: Int) -> Int { mostEqual(among: total, perValue) }

    /// The largest count whose being exceeded is less likely than `bound`: 256 times the tail of
    /// the binomial distribution with p = 1/256, which a geometric series bounds above its mean.
    private static func mostEqual(among total: Int, _ bound: Double) -> Int {
        let n = Double(total)
        var least = n / 256
        least.round(.up)
        while least < n {
            let m = least + 1
            let ways: Double = lgamma(n + 1) - lgamma(m + 1) - lgamma(n - m + 1)
            let logarithm: Double = ways - m * log(256.0) + (n - m) * log(255.0 / 256)
            let ratio = (n - m) / (m + 1) / 255
            if ratio < 1, 256 * exp(logarithm) / (1 - ratio) < bound { break }
            least += 1
        }
        return Int(least)
    }

    /// The longest run of printable ASCII in a value of `total` bytes; longer ones are text.
    static func longestText(inValueOf total: Int) -> Int {
        let run = Int(log(perValue / Double(total)) / log(95.0 / 256)) + 1
        // (95/256)^32 is 2e-14: a short value that is text as a whole is text.
        return total >= 32 ? min(run, total - 1) : total
    }
}
