package import WakeFiles
private import WakeSodium

/// One file of a feed, verified by itself: signed by a key of the feed, and to its last byte what
/// its signed part says. Whether it fits to other files is for ``FeedFileSet`` to say.
package enum FeedFile: Sendable {
    case head(FeedHead)
    case batch(BatchHeader, HeaderHash)

    /// Why a file is none of this feed's.
    package enum Fault: Error, Equatable, Sendable {
        /// It cannot be read.
        case unreadable(FileError)
        /// A directory, a pipe or the like.
        case notRegular
        /// Its first bytes are neither a head's nor a batch's.
        case notOfAFeed
        case refused(FeedError)
        /// The name says another batch than the contents.
        case misnamed
        /// It does not follow the batch before it, which is among the files.
        case chain(after: UInt64)
        /// A head among the files names another batch of this number.
        case otherThanHead(UInt64)
    }

    /// What a file claims to be by its first bytes; nothing is verified.
    enum Kind: Equatable {
        /// - issued: for an order in which heads can be looked at; seconds since 1970.
        case head(issued: UInt64)
        case batch
    }

    static func kind(of file: OpenFile) throws(Fault) -> Kind {
        let start = try read(file, at: 0, count: FeedLimits.headerBytes)
        guard start.count >= 8 else { throw start.isEmpty ? .refused(.truncated) : .notOfAFeed }
        let magic = start.span.extracting(0..<8)
        if magic.isEqual(to: BatchHeader.magic.bytes) { return .batch }
        guard magic.isEqual(to: FeedHead.magic.bytes) else { throw .notOfAFeed }
        return .head(issued: start.count < 48 ? 0 : start.span.littleEndian(at: 40))
    }

    /// - Parameter cursor: whose keys may have signed it.
    /// - Returns: the head, and its signer.
    static func head(
        _ file: OpenFile, cursor: FeedCursor
    ) throws(Fault) -> (FeedHead, FeedKey) {
        let bytes = try read(file, at: 0, count: FeedLimits.headBytes + 1)
        do throws(FeedError) {
            let signer = try FeedHead.signer(of: bytes.span, among: cursor.acceptedKeys)
            guard FeedHead.feedID(in: bytes.span) == cursor.feedID else { throw .wrongFeed }
            let head = try FeedHead(signed: bytes.span)
            guard cursor.accepts(signer, at: head.sequence) else { throw .badSignature }
            return (head, signer)
        } catch {
            throw .refused(error)
        }
    }

    /// Reads a batch to its end, a window at a time.
    /// - Parameter cursor: whose keys may have signed it.
    static func batch(
        _ file: OpenFile, cursor: FeedCursor
    ) throws(Fault) -> (BatchHeader, HeaderHash) {
        let bytes = try read(file, at: 0, count: FeedLimits.headerBytes)
        let header: BatchHeader
        do throws(FeedError) {
            header = try batchHeader(bytes.span, cursor)
        } catch {
            throw .refused(error)
        }
        let nothing = Matcher(digests: [], width: header.width)
        var payload = PayloadReader(header: header, matcher: nothing)
        var offset = bytes.count
        while true {
            let piece = try read(file, at: offset, count: FeedLimits.windowBytes)
            if piece.isEmpty { break }
            do throws(FeedError) {
                try payload.feed(piece.span)
            } catch {
                throw .refused(error)
            }
            offset += piece.count
        }
        do throws(FeedError) {
            _ = try payload.finish()
        } catch {
            throw .refused(error)
        }
        return (header, HeaderHash(ofHeader: bytes.span))
    }

    private static func batchHeader(
        _ bytes: Span<UInt8>, _ cursor: FeedCursor
    ) throws(FeedError) -> BatchHeader {
        guard bytes.count == FeedLimits.headerBytes else { throw .truncated }
        let signer = try BatchHeader.signer(of: bytes, among: cursor.acceptedKeys)
        let header = try BatchHeader(signed: bytes)
        guard header.feedID == cursor.feedID else { throw .wrongFeed }
        guard cursor.accepts(signer, at: header.sequence) else { throw .badSignature }
        try header.checkSize()
        return header
    }

    private static func read(
        _ file: OpenFile, at offset: Int, count: Int
    ) throws(Fault) -> [UInt8] {
        do throws(FileError) {
            return try file.read(at: offset, count: count)
        } catch {
            throw .unreadable(error)
        }
    }
}
