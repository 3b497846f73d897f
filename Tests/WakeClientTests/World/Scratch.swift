import Glibc
import TestSupport
import WakeSystem

/// A directory of its own for one test, removed with it.
final class Scratch: Sendable {
    let path: String

    init() throws {
        // In memory where there is enough: flushing is not what these tests are about.
        var template = Array("\(StorePlace.usual)/wake-client-test-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw FileError(.makeDirectory) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Self.remove(path) }

    /// Every byte of every file below, by path.
    func contents() throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        try collect(path, into: &found)
        return found
    }

    private func collect(_ directory: String, into found: inout [String: [UInt8]]) throws {
        for name in try Files.names(in: directory) {
            let path = directory + "/" + name
            let status = try FileStatus(of: path)
            if status.isDirectory {
                try collect(path, into: &found)
            } else if status.isRegular {
                found[path] = try Files.read(path, limit: 1 << 28)
            }
        }
    }

    private static func remove(_ path: String) {
        guard let status = try? FileStatus(of: path) else { return }
        if status.isDirectory {
            for name in (try? Files.names(in: path)) ?? [] { remove(path + "/" + name) }
            _ = unsafe rmdir(path)
        } else {
            try? Files.remove(path)
        }
    }
}

extension Array where Element == UInt8 {
    /// Whether these bytes hold others in a row.
    func holds(_ needle: [UInt8]) -> Bool {
        guard !needle.isEmpty, count >= needle.count else { return false }
        var index = startIndex
        while let start = self[index...].firstIndex(of: needle[0]) {
            guard start + needle.count <= count else { return false }
            if self[start..<start + needle.count].elementsEqual(needle) { return true }
            index = start + 1
        }
        return false
    }
}
