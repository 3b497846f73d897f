private import Glibc
package import WakeFeed
package import WakeSystem

/// One file of a feed, verified by itself: signed and complete. ``FeedArchive`` compares several.
package enum FeedFile: Sendable {
    /// A head, and its proof, if it comes with one.
    case head(FeedHead, ArchivedProofs.Proof?)
    case batch(BatchHeader, HeaderHash)
    case keys(KeyChain)

    package enum Fault: Error, Equatable, Sendable {
        case unreadable(FileError)
        /// A directory, a pipe or the like.
        case notRegular
        /// It does not begin as a head, a batch or a file of keys.
        case notOfAFeed
        case refused(FeedError)
        /// Its name is another batch's.
        case misnamed
        /// It does not follow the batch before it, which is among the files.
        case chain(after: UInt64)
        /// A head among the files names another batch of this number.
        case otherThanHead(UInt64)
        /// The head's proof does not hold.
        case proof(HeadProofFault)
        /// A head that no proof among the files is of, under a policy that asks for one.
        case unproven
    }

    enum Kind: Equatable {
        /// Seconds since 1970, to order heads by.
        case head(issued: UInt64)
        case batch, keys
    }

    /// The kind of a file by its first bytes; nothing is verified.
    static func kind(of file: OpenFile) throws(Fault) -> Kind {
        let start = try read(file, count: FeedLimits.headerBytes)
        guard start.count >= 8 else { throw start.isEmpty ? .refused(.truncated) : .notOfAFeed }
        let magic = start.span.extracting(0..<8)
        if magic.equals(BatchHeader.layout.magic) { return .batch }
        if magic.equals(KeyChain.magic) { return .keys }
        guard magic.equals(FeedHead.magic) else { throw .notOfAFeed }
        return .head(issued: start.count < 48 ? 0 : start.span.littleEndian(at: 40))
    }

    /// Reads and verifies a head, signed by one of the cursor's keys.
    /// - Returns: also the head's leaf in the feed's log, and its proof, which is not verified; nil
    ///   when nothing follows the head.
    static func head(
        _ file: OpenFile, cursor: FeedCursor
    ) throws(Fault) -> (head: FeedHead, signer: Int, leaf: TreeHash, proof: LogProof?) {
        let bytes = try read(file, count: FeedLimits.headFileBytes + 1)
        let (head, signer) = try mapError(Fault.refused) { () throws(FeedError) in
            try cursor.head(bytes.span)
        }
        let leaf = MerkleTree.leaf(bytes.span.extracting(0..<head.byteCount))
        guard bytes.count > head.byteCount else { return (head, signer, leaf, nil) }
        guard let proof = head.proof(in: bytes) else { throw .proof(.malformed) }
        return (head, signer, leaf, proof)
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
        var reader = BatchReader(cursor: cursor)
        try reader.feed(file, unreadable: Fault.unreadable, refused: Fault.refused)
        do throws(FeedError) {
            let batch = try reader.finish()
            return (batch.header, batch.hash)
        } catch { throw .refused(error) }
    }

    private static func read(_ file: OpenFile, count: Int) throws(Fault) -> [UInt8] {
        try mapError(Fault.unreadable) { () throws(FileError) in
            try file.read(at: 0, count: count)
        }
    }
}

extension BatchReader {
    /// Reads a file from its start to its end; what the disk cannot return counts as absent.
    package mutating func feed(_ file: OpenFile) throws(FeedError) {
        try feed(file, unreadable: { _ in .truncated }, refused: { $0 })
    }

    mutating func feed<Failure: Error>(
        _ file: OpenFile, unreadable: (FileError) -> Failure, refused: (FeedError) -> Failure
    ) throws(Failure) {
        try feed(refused: refused) { offset, count throws(Failure) in
            try mapError(unreadable) { () throws(FileError) in
                try file.read(at: offset, count: count)
            }
        }
    }
}
