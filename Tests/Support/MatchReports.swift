private import Foundation

/// A program for `--on-match` that reports what it was told, and the reports so far.
package final class MatchReports: Sendable {
    package struct Report: Sendable, Equatable {
        package let id: String
        package let secret: String
        package let note: String
    }

    /// Path of the program.
    package let program: String
    private let pipe: String
    private let reports = Observed<[Report]>([])
    private static let end = "end\n"

    /// - Parameter directory: where the program and its pipe are put.
    package init(in directory: TemporaryDirectory) throws {
        program = directory.path + "/on-match"
        pipe = directory.path + "/reports"
        // `<>`: opening a FIFO so waits for no reader (fifo(7)). One line is one write.
        let script = """
            #!/bin/sh
            note=$(cat)
            printf '%s %s %s\\n' "$REVEILLE_MATCH_ID" "$REVEILLE_SECRET_ID" "$note" 1<>'\(pipe)'
            """
        try script.write(toFile: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
        guard unsafe mkfifo(pipe, 0o600) == 0 else { throw TestFailure("mkfifo: errno \(errno)") }
        let descriptor = unsafe open(pipe, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw TestFailure("open: errno \(errno)") }
        Thread.detachNewThread { [reports] in Self.read(descriptor, into: reports) }
    }

    deinit {
        try? FileHandle(forWritingTo: URL(filePath: pipe)).write(contentsOf: Data(Self.end.utf8))
    }

    /// The reports so far.
    package var all: [Report] { reports.value }

    /// Waits until there are so many.
    package func atLeast(_ count: Int) async throws -> [Report] {
        try await reports.first { $0.count >= count ? $0 : nil }
    }

    private static func read(_ descriptor: Int32, into reports: Observed<[Report]>) {
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var rest = ""
        while true {
            rest += String(decoding: handle.availableData, as: UTF8.self)
            while let newline = rest.firstIndex(of: "\n") {
                let line = rest[...newline]
                if line == end { return }
                let words = line.dropLast().split(
                    separator: " ", maxSplits: 2, omittingEmptySubsequences: false
                ).map(String.init)
                rest.removeSubrange(...newline)
                guard words.count == 3 else { continue }
                reports.update {
                    $0.append(Report(id: words[0], secret: words[1], note: words[2]))
                }
            }
        }
    }
}
