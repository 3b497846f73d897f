private import Foundation

/// `bench table`: the figures of a run for the documents.
enum FigureDocument {
    private static let help = """
        usage: bench table FILE [DOCUMENT…]

        Prints the rows of `bench all --json >FILE` as a table of Markdown. With documents, puts
        figures and commands of the run into those rows of their tables that end with the command
        of a row, `Tests/Bench all --only ROW`, and prints the rows that a document has not.
        """

    static func run(_ arguments: [String]) -> Int32 {
        guard let file = arguments.first, !file.hasPrefix("-") else {
            print(help)
            return arguments.first == "--help" ? 0 : 2
        }
        do {
            let data = try Data(contentsOf: URL(filePath: file))
            let report = try JSONDecoder().decode(BenchReport.self, from: data)
            if arguments.count == 1 { show(report) }
            for document in arguments.dropFirst() { try update(document, report) }
            return 0
        } catch {
            print("bench: \(error)")
            return 1
        }
    }

    private static func show(_ report: BenchReport) {
        print("Measured on \(report.machine)\(report.commit.map { ", at commit \($0)" } ?? "").\n")
        print("| what | figure | command |\n|---|---|---|")
        for row in report.rows {
            print(line(row))
        }
    }

    private static func line(_ row: RowResult) -> String {
        "| \(row.operation) | \(row.figure) | `\(row.command)` |"
    }

    /// Whether a cell is the command of a row, with other programs or without: a figure of another
    /// scale or size is another figure.
    private static func isCommand(_ cell: String, of row: RowResult) -> Bool {
        let words = cell.prefix { $0 != "|" }.split { $0 == "`" || $0 == " " }
        return words.filter { $0 != "--peers" }
            == row.command.split(separator: " ").filter { $0 != "--peers" }
    }

    private static func update(_ document: String, _ report: BenchReport) throws {
        let text = try String(contentsOfFile: document, encoding: .utf8)
        var lines = text.components(separatedBy: "\n")
        var missing = report.rows
        for index in lines.indices {
            let cells = lines[index].components(separatedBy: " | ")
            guard cells.count == 3,
                let row = report.rows.first(where: { isCommand(cells[2], of: $0) })
            else { continue }
            lines[index] = "\(cells[0]) | \(row.figure) | `\(row.command)` |"
            missing.removeAll { $0.name == row.name }
        }
        for row in missing { print("not in \(document): \(line(row))") }
        let changed = lines.joined(separator: "\n")
        if changed != text {
            try changed.write(toFile: document, atomically: true, encoding: .utf8)
        }
    }
}
