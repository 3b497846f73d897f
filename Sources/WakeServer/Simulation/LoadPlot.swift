/// The load of fetches over time as characters, 72 columns wide, without any colour.
///
/// ```
///     333 ┤ ▇████████████████████████████████▇▅
///         │▄███████████████████████████████████▃
///       0 ┼──────────────────────────────────────
///          0:00:00                        0:05:05
/// ```
package struct LoadPlot: Sendable, Equatable {
    package enum Style: Sendable {
        /// Eighths of a block.
        case blocks
        /// For terminals and files without them.
        case ascii
    }

    package static let width = 72
    /// Lines of the plot, without the axis.
    package static let height = 10

    /// From the top down, `height` and two for the axis.
    package let lines: [String]

    /// Columns before the first value: the numbers of the axis and the axis.
    private static let margin = 10

    package init(_ simulation: BroadcastSimulation, style: Style = .blocks) {
        let columns = Self.width - Self.margin
        let values = (0..<columns).map { column -> Double in
            // Fewer seconds than columns: a second is some columns wide.
            let from = column * simulation.seconds / columns
            let to = max(from + 1, (column + 1) * simulation.seconds / columns)
            return simulation.part(from: from, length: to - from).fetches
        }
        let top = max(values.max() ?? 0, 1)
        var lines: [String] = []
        for line in 0..<Self.height {
            let label =
                switch line {
                case 0: FigureText.short(UInt64(top.rounded()))
                case Self.height / 2: FigureText.short(UInt64((top / 2).rounded()))
                default: ""
                }
            let cells = values.map { Self.cell($0 / top, line: line, style) }
            lines.append(Self.axis(label, style) + Self.trimmed(cells))
        }
        let corner = FigureText.padded("0", to: Self.margin - 2)
        switch style {
        case .blocks: lines.append(corner + " ┼" + String(repeating: "─", count: columns))
        case .ascii: lines.append(corner + " +" + String(repeating: "-", count: columns))
        }
        let end = FigureText.clock(simulation.seconds)
        let start = FigureText.clock(0)
        lines.append(
            String(repeating: " ", count: Self.margin) + start
                + FigureText.padded(end, to: columns - start.count))
        self.lines = lines
    }

    /// How much of a character is filled, from the top line down.
    private static func cell(_ share: Double, line: Int, _ style: Style) -> Character {
        let eighths = Int((share * Double(height * 8)).rounded()) - (height - 1 - line) * 8
        switch style {
        case .ascii: return eighths >= 4 ? "#" : " "
        case .blocks: return blocks[min(max(eighths, 0), 8)]
        }
    }

    private static let blocks: [Character] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    private static func axis(_ label: String, _ style: Style) -> String {
        let mark =
            switch style {
            case .blocks: label.isEmpty ? "│" : "┤"
            case .ascii: "|"
            }
        return FigureText.padded(label, to: margin - 2) + " " + mark
    }

    private static func trimmed(_ cells: [Character]) -> String {
        var cells = cells[...]
        while cells.last == " " { cells.removeLast() }
        return String(cells)
    }
}
