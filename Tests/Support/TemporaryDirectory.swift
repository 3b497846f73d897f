package import Foundation

/// A directory of a test's own, removed with everything in it when the last user is gone.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        let url = FileManager.default.temporaryDirectory
            .appending(path: "reveille-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        path = url.path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// The files below a directory in which a program may be at work.
package enum FileSnapshot {
    /// Every regular file, by path. When one is gone before it could be read, all are read again:
    /// what it held may lie under another name, and must not be missed.
    package static func files(below root: String) throws -> [String: Data] {
        while true {
            if let files = try attempt(root) { return files }
            try Task.checkCancellation()
        }
    }

    private static func attempt(_ root: String) throws -> [String: Data]? {
        var files: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: root) {
            let path = root + "/" + name
            guard let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] else {
                return nil
            }
            // Reading a FIFO would wait for a writer.
            guard type as? FileAttributeType == .typeRegular else { continue }
            files[name] = FileManager.default.contents(atPath: path)
            if files[name] == nil, !FileManager.default.fileExists(atPath: path) { return nil }
        }
        return files
    }
}
