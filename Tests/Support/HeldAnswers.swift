private import Foundation

/// Answers that the mock of APNs holds back, by a file that `--hold` names: how far a round gets
/// depends on what a test allows, and not on how fast the machine is.
package final class HeldAnswers: Sendable {
    private let directory: TemporaryDirectory
    private var file: URL { URL(filePath: directory.path + "/hold") }

    /// - Parameter count: answers that may leave at first.
    package init(allowing count: Int = 0) throws {
        directory = try TemporaryDirectory()
        try allow(count)
    }

    /// For the mock.
    package var flags: [String] { ["--hold", file.path] }

    /// This many answers may leave, counted from the first one.
    package func allow(_ count: Int) throws {
        try Data("\(count)".utf8).write(to: file, options: .atomic)
    }

    /// All may.
    package func release() throws { try FileManager.default.removeItem(at: file) }
}
