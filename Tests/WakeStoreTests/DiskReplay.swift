private import Glibc
import TestSupport
import WakeSystem

/// A disk that is told what a process did, step by step, and says what a power cut would leave: as
/// a file system may behave that promises nothing but what was flushed.
struct DiskReplay {
    /// One record of a trace, see `wake_trace`.
    struct Record {
        let letter: Character
        let inode: UInt64
        let number: Int
        let bytes: [UInt8]

        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// What survives of what was not flushed.
    enum Survival {
        case nothing
        /// Any writes, and changes of names up to any one of them.
        case anything
    }

    private struct File {
        var flushed: [UInt8]
        /// Writes, and changes of length without bytes.
        var pending: [(offset: Int, bytes: [UInt8]?)] = []
    }

    private enum NameChange {
        case made(String, UInt64)
        case renamed(String, String)
        case unlinked(String)
    }

    private var files: [UInt64: File] = [:]
    private var names: [String: UInt64] = [:]
    private var pendingNames: [String: [NameChange]] = [:]
    private var directories: [UInt64: String] = [:]

    /// As it is now, all of it flushed.
    init(directories paths: [String]) {
        for directory in paths {
            directories[Self.inode(of: directory)] = directory
            for name in StorePlace.names(in: directory) where name != "reserve" {
                let path = directory + "/" + name
                let inode = Self.inode(of: path)
                names[path] = inode
                files[inode] = File(flushed: StorePlace.bytes(of: path))
            }
        }
    }

    static func records(_ trace: [UInt8]) -> [Record] {
        var records: [Record] = []
        var rest = trace[...]
        func number(_ range: Range<Int>) -> UInt64 {
            rest.dropFirst(range.lowerBound).prefix(range.count).reversed()
                .reduce(0) { $0 << 8 | UInt64($1) }
        }
        while rest.count >= 21, let letter = rest.first {
            let count = Int(number(17..<21))
            records.append(
                Record(
                    letter: Character(UnicodeScalar(letter)), inode: number(1..<9),
                    number: Int(Int64(bitPattern: number(9..<17))),
                    bytes: Array(rest.dropFirst(21).prefix(count))))
            rest = rest.dropFirst(21 + count)
        }
        return records
    }

    mutating func apply(_ record: Record) {
        switch record.letter {
        case "D": directories[record.inode] = record.text
        case "C":
            // The reserve is zeros, and large.
            guard !record.text.hasSuffix("/reserve"), directory(record.text) != nil else { return }
            if names(after: nil)[record.text] == record.inode {
                files[record.inode]?.pending.append((0, nil))
            } else {
                files[record.inode] = File(flushed: [])
                change(.made(record.text, record.inode), at: record.text)
            }
        case "W": files[record.inode]?.pending.append((record.number, record.bytes))
        case "T": files[record.inode]?.pending.append((record.number, nil))
        case "S":
            if let directory = directories[record.inode] {
                names = names(after: directory)
                pendingNames[directory] = nil
            } else if let file = files[record.inode] {
                files[record.inode] = File(flushed: Self.bytes(file, file.pending))
            }
        case "R":
            let paths = record.bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            change(.renamed(paths[0], paths[1]), at: paths[1])
        case "U": change(.unlinked(record.text), at: record.text)
        default: break
        }
    }

    /// The files by path, after a power cut now.
    func image(_ survival: Survival) -> [String: [UInt8]] {
        var random = SystemRandomNumberGenerator()
        var names = names
        for (_, changes) in pendingNames where survival == .anything {
            for change in changes.prefix(Int.random(in: 0...changes.count, using: &random)) {
                Self.apply(change, to: &names)
            }
        }
        return names.compactMapValues { inode in
            guard let file = files[inode] else { return nil }
            let survivors =
                survival == .nothing
                ? [] : file.pending.filter { _ in Bool.random(using: &random) }
            return Self.bytes(file, survivors)
        }
    }

    // MARK: Names and bytes

    private func directory(_ path: String) -> String? {
        directories.values.first { path.hasPrefix($0 + "/") }
    }

    private mutating func change(_ change: NameChange, at path: String) {
        guard let directory = directory(path) else { return }
        pendingNames[directory, default: []].append(change)
    }

    /// With the pending changes of one directory, or of all.
    private func names(after directory: String?) -> [String: UInt64] {
        var names = names
        for (path, changes) in pendingNames where directory == nil || path == directory {
            for change in changes { Self.apply(change, to: &names) }
        }
        return names
    }

    private static func apply(_ change: NameChange, to names: inout [String: UInt64]) {
        switch change {
        case .made(let path, let inode): names[path] = inode
        case .renamed(let from, let to): names[to] = names.removeValue(forKey: from)
        case .unlinked(let path): names[path] = nil
        }
    }

    private static func bytes(
        _ file: File, _ writes: [(offset: Int, bytes: [UInt8]?)]
    ) -> [UInt8] {
        var bytes = file.flushed
        func grow(_ count: Int) {
            if bytes.count < count { bytes += [UInt8](repeating: 0, count: count - bytes.count) }
        }
        for (offset, written) in writes {
            if let written {
                grow(offset + written.count)
                bytes.replaceSubrange(offset..<offset + written.count, with: written)
            } else {
                grow(offset)
                bytes.removeLast(bytes.count - offset)
            }
        }
        return bytes
    }

    private static func inode(of path: String) -> UInt64 {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? UInt64(status.st_ino) : 0
    }
}
