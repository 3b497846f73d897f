import Foundation
import TestSupport

/// The repository's files, as the tidy rules see them.
struct SourceTree {
    struct File {
        /// Relative to the repository.
        let path: String
        let lines: [String]
    }

    let files: [File]

    /// The checkout these tests were built from.
    static func repository() throws -> SourceTree {
        let root = Repository.root
        return try SourceTree(root: root)
    }

    init(files: [File]) {
        self.files = files
    }

    private init(root: URL) throws {
        var files: [File] = []
        for folder in ["Sources", "Tests", "Deploy", "Policy"] {
            let base = root.appending(path: folder)
            let paths = try FileManager.default.subpathsOfDirectory(atPath: base.path)
            for path in paths.sorted() where Self.isText(path) {
                let url = base.appending(path: path)
                guard let text = try? String(contentsOf: url, encoding: .utf8) else { continue }
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                files.append(File(path: "\(folder)/\(path)", lines: lines.map(String.init)))
            }
        }
        for name in ["README.md", "Package.swift"] {
            let text = try String(contentsOf: root.appending(path: name), encoding: .utf8)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            files.append(File(path: name, lines: lines.map(String.init)))
        }
        self.files = files
    }

    private static func isText(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return true }
        return [
            "swift", "h", "c", "md", "sh", "json", "py", "conf", "cfg", "service", "timer", "yml",
            "yaml",
        ]
        .contains(String(name[name.index(after: dot)...]))
    }
}
