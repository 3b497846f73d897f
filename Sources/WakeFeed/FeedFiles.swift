internal import WakeFiles
internal import WakeSodium

/// Names of a feed's files, and how they are read by those who may write them.
struct FeedFiles: Sendable {
    let directory: String

    var head: String { directory + "/head" }
    var batches: String { directory + "/b" }
    var journal: String { directory + "/.journal" }

    func batch(_ name: String) -> String { batches + "/" + name }
    static func temporary(_ path: String) -> String { path + ".tmp" }

    /// Reads the head, signed by one of these keys.
    func readHead(
        _ keys: [FeedKey], feedID: FeedID
    ) throws(FeedDirectoryError) -> (head: FeedHead, signer: FeedKey) {
        let bytes = try readHeadBytes()
        do throws(FeedError) {
            let signer = try FeedHead.signer(of: bytes.span, among: keys)
            guard FeedHead.feedID(in: bytes.span) == feedID else { throw .wrongFeed }
            return (try FeedHead(signed: bytes.span), signer)
        } catch {
            throw .head(error)
        }
    }

    func readHeadBytes() throws(FeedDirectoryError) -> [UInt8] {
        do throws(FileError) {
            return try Files.read(head, limit: FeedLimits.headBytes)
        } catch {
            throw error.isMissing ? .noFeed : .file(error)
        }
    }

    func readJournal() throws(FeedDirectoryError) -> FeedJournal {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try Files.read(journal, limit: FeedJournal.byteLimit)
        } catch {
            if error.isMissing { return FeedJournal() }
            throw .file(error)
        }
        guard let journal = FeedJournal(bytes) else { throw .journal }
        return journal
    }

    func write(_ journal: FeedJournal) throws(FeedDirectoryError) {
        let bytes = journal.encoded()
        try FeedDirectoryError.wrap { () throws(FileError) in
            try Files.replace(self.journal, with: bytes.span, mode: 0o600)
        }
    }
}
