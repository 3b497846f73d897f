package import Foundation

/// The checkout these tests were built from.
package enum Repository {
    package static var root: URL {
        URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    package static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    package static func absolute(_ path: String) -> String { root.appending(path: path).path }

    /// Every file below a folder whose name ends so, sorted.
    package static func paths(in folder: String, ending suffix: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { $0.hasSuffix(suffix) }.sorted().map { folder + "/" + $0 }
    }
}
