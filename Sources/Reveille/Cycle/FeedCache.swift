private import Glibc
import WakeFeed
import WakeSystem

/// Fetched batches, one file each under its published name. May be lost; every use verifies them.
final class FeedCache {
    private let directory: String
    /// Bytes of all batches together.
    private let capacity: Int
    /// The disk had no room for the last batch that was fetched.
    var isFull = false

    /// Nothing fails here: without a cache, batches are checked as they arrive and not kept.
    init(_ parent: String, feed: FeedID, capacity: Int) {
        directory = parent + "/" + feed.text
        self.capacity = capacity
    }

    /// Looked at each time: the directory may be emptied or removed while the client runs. What
    /// others can write must not be searched later without being verified again.
    private var isUsable: Bool {
        guard let status = try? FileStatus(ofDirectory: directory) else { return false }
        return status.isPrivate && status.isDirectory
    }

    func path(_ name: String) -> String { directory + "/" + name }

    /// nil when nothing is to be kept.
    func partPath(_ name: String) -> String? {
        if !Files.exists(directory) { try? Files.makeDirectory(directory) }
        return isUsable ? directory + "/" + name + ".part" : nil
    }

    func hasRoom(for bytes: Int) -> Bool {
        guard isUsable, let free = try? Files.freeBytes(at: directory) else { return false }
        return free >= bytes
    }

    func open(_ name: String) -> OpenFile? {
        guard isUsable else { return nil }
        return try? OpenFile(path(name), flags: O_RDONLY)
    }

    /// Keeps a batch that was verified to its end.
    func keep(_ name: String) {
        guard let part = partPath(name) else { return }
        // A power cut may undo this: a flush of the directory for each batch costs more.
        try? Files.renameForNow(part, to: path(name))
    }

    func drop(_ name: String) {
        try? Files.remove(path(name))
        dropPart(name)
    }

    func dropPart(_ name: String) {
        try? Files.remove(path(name) + ".part")
    }

    /// The batches that are kept, oldest first.
    func batches() -> [(sequence: UInt64, name: String)] {
        guard isUsable else { return [] }
        return ((try? Files.names(in: directory)) ?? [])
            .compactMap { name in FeedHead.sequence(ofBatchName: name).map { ($0, name) } }
            .sorted { $0.0 < $1.0 }
    }

    /// Drops batches that the head no longer names, and the oldest batches beyond the capacity.
    func trim(head: FeedHead) {
        var kept: [(name: String, size: Int)] = []
        for (sequence, name) in batches() {
            guard name == head.batchName(for: sequence) else {
                drop(name)
                continue
            }
            kept.append((name, (try? FileStatus(of: path(name)))?.size ?? 0))
        }
        var total = kept.reduce(0) { $0 + $1.size }
        for (name, size) in kept where total > capacity {
            drop(name)
            total -= size
        }
        // Parts of batches that will never be asked for again.
        for name in (try? Files.names(in: directory)) ?? [] where name.hasSuffix(".part") {
            let batch = String(name.dropLast(".part".count))
            guard let sequence = FeedHead.sequence(ofBatchName: batch) else { continue }
            if head.batchName(for: sequence) != batch { dropPart(batch) }
        }
    }

    /// Drops every file of this cache, and no other.
    func erase() {
        for name in (try? Files.names(in: directory)) ?? [] {
            let batch = name.hasSuffix(".part") ? String(name.dropLast(".part".count)) : name
            if FeedHead.isBatchName(batch) { try? Files.remove(path(name)) }
        }
    }
}

extension BatchReader {
    /// Reads a kept file from its start to `end`, or to its own end; what the disk cannot return
    /// counts as absent.
    /// - Returns: the number of bytes read.
    @discardableResult
    mutating func feed(_ file: OpenFile, upTo end: Int = .max) throws(FeedError) -> Int {
        try feed(upTo: end, refused: { $0 }) { offset, count throws(FeedError) in
            try mapError({ (_: FileError) in FeedError.truncated }) { () throws(FileError) in
                try file.read(at: offset, count: count)
            }
        }
    }
}
