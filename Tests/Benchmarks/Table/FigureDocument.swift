private import Foundation

/// `bench table`: the figures of a run for the documents.
enum FigureDocument {
    private static let help = """
        usage: bench table FILE [DOCUMENT…]

        Prints the rows of `bench all --json >FILE` as a table of Markdown. With documents, puts
        the figures of the run into the rows of their tables that end with the command of a row,
        `Tests/Bench all --only ROW`, and prints which.
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
            print("| \(row.operation) | \(row.figure) | `\(row.command)` |")
        }
    }

    private static func update(_ document: String, _ report: BenchReport) throws {
        let text = try String(contentsOfFile: document, encoding: .utf8)
        var lines = text.components(separatedBy: "\n")
        for index in lines.indices {
            guard let row = report.rows.first(where: { lines[index].hasSuffix("`\($0.command)` |") })
            else { continue }
            let cells = lines[index].components(separatedBy: " | ")
            guard cells.count == 3 else { continue }
            lines[index] = [cells[0], row.figure, cells[2]].joined(separator: " | ")
            print("\(document): \(row.name)")
        }
        let changed = lines.joined(separator: "\n")
        if changed != text {
            try changed.write(toFile: document, atomically: true, encoding: .utf8)
        }
    }
}
