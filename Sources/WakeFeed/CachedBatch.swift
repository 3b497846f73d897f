private import Glibc
package import WakeFiles

/// A batch that was verified when it was fetched and kept since, to be searched again, without any
/// request, when a secret is added later.
///
/// It is read through once more, hashed, checked for order and searched in one pass, as when it was
/// fetched: a search in places would take less time, but after damage by a disk or a hand it could
/// miss what was published, and say nothing. Read and not mapped: a page that went away under a
/// mapping ends the process. Signatures are not checked again, since the keys of older batches may
/// have been retired; whoever can forge a header in the cache can write into the state beside it.
package struct CachedBatch: Sendable {
    package let header: BatchHeader
    private let file: OpenFile

    /// - Parameters:
    ///   - file: header and payload as they were fetched.
    ///   - name: the one it was published under, which holds the first bytes of its header's hash.
    ///   - feedID: the feed it must belong to.
    package init(_ file: OpenFile, name: String, feedID: FeedID) throws(FeedError) {
        let bytes = try Self.read(file, at: 0, count: FeedLimits.headerBytes)
        guard bytes.count == FeedLimits.headerBytes else { throw .truncated }
        let header = try BatchHeader(signed: bytes.span)
        guard header.feedID == feedID else { throw .wrongFeed }
        let suffix = HeaderHash(ofHeader: bytes.span).suffix
        guard name == FeedHead.batchName(header.sequence, suffix) else { throw .badSignature }
        try header.checkSize()
        self.header = header
        self.file = file
    }

    /// What of these secrets was published in it.
    /// - Throws: when the file is not what was once verified, and nothing of it can be relied on.
    package func matches(of secrets: LocalSecretSet) throws(FeedError) -> [FeedMatch] {
        var payload = PayloadReader(header: header, matcher: secrets.matcher(for: header))
        var offset = FeedLimits.headerBytes
        while true {
            let piece = try Self.read(file, at: offset, count: FeedLimits.windowBytes)
            if piece.isEmpty { break }
            try payload.feed(piece.span)
            offset += piece.count
        }
        return secrets.matches(of: try payload.finish(), in: header)
    }

    /// What the disk cannot give back counts as not there.
    private static func read(
        _ file: OpenFile, at offset: Int, count: Int
    ) throws(FeedError) -> [UInt8] {
        do throws(FileError) {
            return try file.read(at: offset, count: count)
        } catch {
            throw .truncated
        }
    }
}
