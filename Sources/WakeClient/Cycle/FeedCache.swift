private import Glibc
import WakeFeed
import WakeSystem

/// Fetched batches, one file each under its published name. May be lost; every use verifies them.
final class FeedCache {
    private let directory: String
    /// Bytes of all batches together.
    private let capacity: Int
    private let isUsable: Bool
    /// The disk had no room for the last batch that was fetched.
    var isFull = false

    /// Nothing fails here: without a cache, batches are checked as they arrive and not kept.
    init(_ parent: String, feed: FeedID, capacity: Int) {
        directory = parent + "/" + feed.text
        self.capacity = capacity
        try? Files.makeDirectory(directory)
        // What others can write must not be searched later without being verified again.
        isUsable = ((try? FileStatus(of: directory))?.isPrivate) ?? false
    }

    func path(_ name: String) -> String { directory + "/" + name }

    /// nil when nothing is to be kept.
    func partPath(_ name: String) -> String? { isUsable ? directory + "/" + name + ".part" : nil }

    func hasRoom(for bytes: Int) -> Bool {
        guard isUsable, let free = try? Files.freeBytes(at: directory) else { return false }
        return free >= bytes
    }

    func open(_ name: String) -> OpenFile? {
        guard isUsable else { return nil }
        return try? OpenFile(path(name), flags: O_RDONLY)
    }

    /// The matches of the secrets in a kept batch. Throws when its file is damaged or unreadable.
    func matches(
        in name: String, of feed: FeedID, secrets: LocalSecretSet
    ) throws(FeedError) -> [FeedMatch] {
        guard let file = open(name) else { throw .truncated }
        return try CachedBatch(file, name: name, feedID: feed).matches(of: secrets)
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
        if let part = partPath(name) { try? Files.remove(part) }
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
            if name == "head" || name == "head.tmp" || FeedHead.isBatchName(batch) {
                try? Files.remove(path(name))
            }
        }
    }

    /// The newest head that was accepted: one half of the proof, should another one turn up.
    func keepHead(_ bytes: [UInt8]) { try? Files.replace(path("head"), with: bytes.span) }

    /// Copies both halves where no trimming reaches them.
    func keepEvidence(of sequence: UInt64, other: [UInt8], in stateDirectory: String) {
        let name = stateDirectory + "/evidence-\(sequence)-"
        if let known = try? Files.read(path("head"), limit: FeedLimits.headBytes) {
            try? Files.replace(name + "known-head", with: known.span)
        }
        try? Files.replace(name + "other-head", with: other.span)
    }
}
