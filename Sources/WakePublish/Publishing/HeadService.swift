import WakeFeed
internal import WakeModel
import WakeSystem

/// The way of a signed head to the feed's clients: into the log, past the witnesses, into the files
/// that are served. Each step is durable before the next: tiles, `.log`, `checkpoint`, and `head`
/// with its proof. Killed in between, the directory verifies: until `.log` is written nobody has
/// seen the new tiles; from then on the head is pending, and is served by the next publisher.
struct HeadService {
    let directory: FeedDirectory
    let key: SigningKey
    let witnesses: WitnessCollector?
    let observer: FeedPublisher.Observer

    /// Logs a head and serves it.
    /// - Throws: `.witnesses` without a quorum; the head is pending then.
    func publish(
        _ head: [UInt8], in log: FeedLog
    ) throws(FeedDirectoryError) {
        var log = log
        try log.append(head) { tile, bytes throws(FeedDirectoryError) in
            let path = directory.path(of: tile)
            try mapError(FeedDirectoryError.of) { () throws(FileError) in
                try Files.makeDirectory(Files.parent(of: path) ?? path, mode: 0o755)
            }
            try directory.replace(path, with: bytes, .tileWritten, .tileNamed, observer)
        }
        try observer(.logged)
        try serve(head, of: log)
    }

    /// Serves the newest head of the log.
    func serve(_ head: [UInt8], of log: FeedLog) throws(FeedDirectoryError) {
        var checkpoint = try log.checkpoint(signedWith: key)
        if let witnesses {
            for signature in try witnesses(CheckpointSubmission(checkpoint, in: directory)) {
                checkpoint.append(signature)
            }
        }
        try observer(.cosigned)
        let proof = try log.proof(for: checkpoint).bytes
        guard proof.count <= FeedLimits.proofBytes else { throw .log(.tooLarge) }
        try directory.replace(
            directory.checkpointPath, with: checkpoint.bytes, .checkpointWritten,
            .checkpointNamed, observer)
        try directory.replace(
            directory.headPath, with: head + proof, .headWritten, .headNamed, observer)
    }
}

extension FeedDirectory {
    /// Writes a file under a temporary name, then renames it; both steps are durable and reported.
    func replace(
        _ path: String, with bytes: [UInt8], _ written: PublishStep, _ named: PublishStep,
        _ observer: FeedPublisher.Observer
    ) throws(FeedDirectoryError) {
        let temporary = Self.temporary(path)
        try mapError(FeedDirectoryError.of) { () throws(FileError) in
            // A crashed publisher's file of this name is unused: the lock is ours.
            try Files.remove(temporary)
            do throws(FileError) {
                try Files.create(temporary, with: bytes.span, mode: 0o644)
            } catch {
                // On a full disk half a file only occupies space.
                try? Files.remove(temporary)
                throw error
            }
        }
        try observer(written)
        try mapError(FeedDirectoryError.of) { () throws(FileError) in
            try Files.rename(temporary, to: path)
        }
        try observer(named)
    }

    static func temporary(_ path: String) -> String { path + ".tmp" }

    /// The files below `tile` that no checkpoint needs: leftovers of crashes, and partial tiles
    /// that a longer one has followed. The caller keeps the young ones: a monitor may be reading.
    /// - Parameter sizes: of the log, and of the checkpoint that is served.
    func supersededTiles(sizes: [UInt64]) throws(FileError) -> [String] {
        guard Files.exists(tilesPath) else { return [] }
        var (found, folders) = ([String](), [tilesPath])
        while let folder = folders.popLast() {
            for name in try Files.names(in: folder) {
                let path = folder + "/" + name
                let relative = String(path.dropFirst(self.path.count + 1))
                if try FileStatus(of: path).isDirectory {
                    folders.append(path)
                } else if relative.hasSuffix(".tmp") {
                    found.append(path)
                } else if let tile = LogTile(path: relative), !tile.isFull,
                    !sizes.contains(where: { LogTile.isPart(tile, of: $0) })
                {
                    found.append(path)
                }
            }
        }
        return found
    }
}
