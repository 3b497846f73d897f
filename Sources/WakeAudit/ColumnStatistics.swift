/// How often each byte value occurs at each position of one column of one table, and what single
/// values look like.
struct ColumnStatistics {
    private let length: Int
    /// 256 counts for each position.
    private var counts: [UInt32]
    private var rows = 0
    /// Counts of the value in hand.
    private var inValue = [UInt32](repeating: 0, count: 256)
    private let mostEqual: Int
    private let longestText: Int

    init(length: Int) {
        self.length = length
        counts = [UInt32](repeating: 0, count: length * 256)
        mostEqual = ChanceBounds.mostEqual(inValueOf: length)
        longestText = ChanceBounds.longestText(inValueOf: length)
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
        findings.note(.sameBytes, if: longestEqual >= ChanceBounds.equalRun)
        findings.note(.unevenRow, if: isUneven)
    }

    private var isUneven: Bool {
        if length >= ChanceBounds.chiSquareValueBytes {
            return ChanceBounds.statistic(inValue, total: length) > ChanceBounds.chiSquareOfValue
        }
        return inValue.contains { $0 > UInt32(mostEqual) }
    }

    /// What shows only over all rows: of each position, and of the column as a whole.
    func finish(_ findings: inout AuditFindings) {
        guard rows > 0 else { return }
        var whole = [UInt32](repeating: 0, count: 256)
        for position in 0..<length {
            let part = counts[position * 256..<(position + 1) * 256]
            findings.note(.unevenPosition, if: Self.isUneven(part, total: rows))
            for (index, count) in part.enumerated() { whole[index] &+= count }
        }
        // A single value was looked at as such; a position of it says nothing.
        findings.note(.unevenColumn, if: Self.isUneven(whole[...], total: rows * length))
    }

    private static func isUneven(_ counts: ArraySlice<UInt32>, total: Int) -> Bool {
        if total >= ChanceBounds.chiSquareCount {
            return !ChanceBounds.chiSquare.contains(
                ChanceBounds.statistic(counts, total: total))
        }
        let most = ChanceBounds.mostEqual(among: total)
        return counts.contains { $0 > UInt32(most) }
    }
}
