private import Glibc
package import WakeSystem

/// One file of a feed, verified by itself: signed and complete. ``FeedArchive`` compares several.
package enum FeedFile: Sendable {
    case head(FeedHead)
    case batch(BatchHeader, HeaderHash)
    case keys(KeyChain)
    case proof(ArchivedProofs.Proof)

    package enum Fault: Error, Equatable, Sendable {
        case unreadable(FileError)
        /// A directory, a pipe or the like.
        case notRegular
        /// Its first bytes are none of a head, a batch, a file of keys or a proof.
        case notOfAFeed
        case refused(FeedError)
        /// Its name is another batch's.
        case misnamed
        /// It does not follow the batch before it, which is among the files.
        case chain(after: UInt64)
        /// A head among the files names another batch of this number.
        case otherThanHead(UInt64)
        /// A proof does not hold, or is of no head among the files.
        case proof(HeadProofFault)
        /// A head that no proof among the files is of, under a policy that asks for one.
        case unproven
    }

    enum Kind: Equatable {
        /// Seconds since 1970, to order heads by.
        case head(issued: UInt64)
        case batch, keys, proof
    }

    /// The kind of a file by its first bytes; nothing is verified.
    static func kind(of file: OpenFile) throws(Fault) -> Kind {
        let start = try read(file, count: FeedLimits.headerBytes)
        guard start.count >= 8 else { throw start.isEmpty ? .refused(.truncated) : .notOfAFeed }
        let magic = start.span.extracting(0..<8)
        if magic.equals(BatchHeader.layout.magic) { return .batch }
        if magic.equals(KeyChain.magic) { return .keys }
        if start.starts(with: LogProof.mark) { return .proof }
        guard magic.equals(FeedHead.layout.magic) else { throw .notOfAFeed }
        return .head(issued: start.count < 48 ? 0 : start.span.littleEndian(at: 40))
    }

    /// Reads and verifies a head, signed by one of the cursor's keys.
    /// - Returns: also the head's leaf in the feed's log.
    static func head(
        _ file: OpenFile, cursor: FeedCursor
    ) throws(Fault) -> (head: FeedHead, signer: Int, leaf: TreeHash) {
        let bytes = try read(file, count: FeedLimits.headBytes + 1)
        let (head, signer) = try mapError(Fault.refused) { () throws(FeedError) in
            try cursor.head(bytes.span)
        }
        return (head, signer, MerkleTree.leaf(bytes.span))
    }

    /// Reads a proof; nothing of it is verified.
    static func proof(_ file: OpenFile) throws(Fault) -> LogProof {
        let bytes = try read(file, count: FeedLimits.proofBytes + 1)
        guard bytes.count <= FeedLimits.proofBytes else { throw .refused(.tooLarge) }
        guard let proof = LogProof(bytes) else { throw .proof(.malformed) }
        return proof
    }

    /// Reads and verifies a file of keys, of which one is known.
    static func keys(_ file: OpenFile, of key: FeedKey) throws(Fault) -> KeyChain {
        let bytes = try read(file, count: FeedLimits.keysBytes + 1)
        return try mapError(Fault.refused) { () throws(FeedError) in
            let chain = try KeyChain(bytes.span)
            guard chain.contains(key) else { throw .wrongFeed }
            return chain
        }
    }

    /// Reads and verifies a whole batch, signed by one of the cursor's keys.
    static func batch(
        _ file: OpenFile, cursor: FeedCursor
    ) throws(Fault) -> (BatchHeader, HeaderHash) {
        let bytes = try read(file, count: FeedLimits.headerBytes)
        let header = try mapError(Fault.refused) { () throws(FeedError) in
            guard bytes.count == FeedLimits.headerBytes else { throw .truncated }
            let header = try cursor.header(bytes.span)
            try header.checkSize()
            return header
        }
        var payload = PayloadReader(
            header: header, matcher: Matcher(digests: [], range: header.range))
        var offset = bytes.count
        while let window = try file.window(at: &offset, Fault.unreadable) {
            try mapError(Fault.refused) { () throws(FeedError) in try payload.feed(window.span) }
        }
        _ = try mapError(Fault.refused) { () throws(FeedError) in try payload.finish() }
        return (header, HeaderHash(ofHeader: bytes.span))
    }

    private static func read(_ file: OpenFile, count: Int) throws(Fault) -> [UInt8] {
        try mapError(Fault.unreadable) { () throws(FileError) in
            try file.read(at: 0, count: count)
        }
    }
}

/// A batch that was verified when fetched, to be searched for a secret added later. The whole file
/// is hashed and searched again: a binary search could miss digests in a damaged file, and a page
/// that vanishes under a mapping ends the process. Signatures are not checked: keys of older
/// batches may be retired, and a cache that others can write is not used.
package struct CachedBatch: Sendable {
    package let header: BatchHeader
    private let file: OpenFile

    /// - Parameter name: the published name, with the first bytes of the hash of the header.
    package init(_ file: OpenFile, name: String, feedID: FeedID) throws(FeedError) {
        // Bytes that the disk cannot return count as absent.
        let bytes = try mapError({ _ in FeedError.truncated }) { () throws(FileError) in
            try file.read(at: 0, count: FeedLimits.headerBytes)
        }
        guard bytes.count == FeedLimits.headerBytes else { throw .truncated }
        let header = try BatchHeader(signed: bytes.span)
        guard header.feedID == feedID else { throw .wrongFeed }
        let suffix = HeaderHash(ofHeader: bytes.span).suffix
        guard name == FeedHead.batchName(header.sequence, suffix) else { throw .badSignature }
        try header.checkSize()
        self.header = header
        self.file = file
    }

    /// The matches of these secrets; an error when the file is damaged.
    package func matches(of secrets: LocalSecretSet) throws(FeedError) -> [FeedMatch] {
        var payload = PayloadReader(header: header, matcher: secrets.matcher(for: header))
        var offset = FeedLimits.headerBytes
        while let window = try file.window(at: &offset, { _ in FeedError.truncated }) {
            try payload.feed(window.span)
        }
        return secrets.matches(of: try payload.finish(), in: header)
    }
}

extension OpenFile {
    /// Reads the next 64 KiB, or less at the end; nil at the end.
    func window<Failure: Error>(
        at offset: inout Int, _ map: (FileError) -> Failure
    ) throws(Failure) -> [UInt8]? {
        let start = offset
        let bytes = try mapError(map) { () throws(FileError) in
            try read(at: start, count: FeedLimits.windowBytes)
        }
        offset += bytes.count
        return bytes.isEmpty ? nil : bytes
    }
}
