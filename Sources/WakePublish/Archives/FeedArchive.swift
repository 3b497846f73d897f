private import Glibc
package import WakeFeed
private import WakeSystem

/// A verifier of files of one feed in any order, each alone, then together; keeps only headers.
package struct FeedArchive {
    package struct Verdict: Sendable {
        package let path: String
        package var result: Result<FeedFile, FeedFile.Fault>
        /// A head that its proof, or one of a later head, shows to be in the log.
        package var isProven = false
    }

    package private(set) var verdicts: [Verdict] = []
    /// Knows the keys: the given one, and those that files of keys add.
    private var cursor: FeedCursor
    /// The suffixes of batches that heads name.
    private var named: [UInt64: BatchSuffix] = [:]
    /// The whole hash of each head's newest batch.
    private var newest: [UInt64: HeaderHash] = [:]
    private var proofs: ArchivedProofs

    /// - Parameters:
    ///   - known: the keys that are known to have followed each other, with `key` among them.
    ///   - proofs: none yet, with the policy of witnesses that they are to be held against.
    ///   - progress: called after each file with the number done and the total.
    package init(
        _ paths: [String], key: FeedKey, known: KeyChain? = nil,
        proofs: ArchivedProofs = ArchivedProofs(), progress: (Int, Int) -> Void = { _, _ in }
    ) {
        self.proofs = proofs
        cursor = known.map(FeedCursor.init(chain:)) ?? FeedCursor(key: key)
        var heads: [(issued: UInt64, index: Int)] = []
        var (batches, keys): ([Int], [Int]) = ([], [])
        for (index, path) in paths.enumerated() {
            var fault = FeedFile.Fault.notOfAFeed
            do throws(FeedFile.Fault) {
                switch try FeedFile.kind(of: Self.open(path)) {
                case .head(let issued): heads.append((issued, index))
                case .batch: batches.append(index)
                case .keys: keys.append(index)
                }
            } catch {
                fault = error
            }
            verdicts.append(Verdict(path: path, result: .failure(fault)))
        }
        // Keys first; then heads, the oldest first: one of a key's successor retires that key.
        heads.sort { ($0.issued, $0.index) < ($1.issued, $1.index) }
        var done = verdicts.count - heads.count - batches.count - keys.count
        let ordered =
            keys.map { ($0, FeedFile.Kind.keys) }
            + heads.map { ($0.index, .head(issued: $0.issued)) } + batches.map { ($0, .batch) }
        for (index, kind) in ordered {
            do throws(FeedFile.Fault) {
                verdicts[index].result = .success(try verify(index, kind, key))
            } catch {
                verdicts[index].result = .failure(error)
            }
            done += 1
            progress(done, paths.count)
        }
        checkChain(batches)
        checkProofs()
    }

    private static func open(_ path: String) throws(FeedFile.Fault) -> OpenFile {
        let (file, isRegular) = try mapError(FeedFile.Fault.unreadable) {
            () throws(FileError) -> (OpenFile, Bool) in
            // A pipe would wait for its other end (open(2)).
            let file = try OpenFile(path, flags: O_RDONLY | O_NONBLOCK, followsLink: true)
            return (file, try file.status().isRegular)
        }
        guard isRegular else { throw .notRegular }
        return file
    }

    private mutating func verify(
        _ index: Int, _ kind: FeedFile.Kind, _ key: FeedKey
    ) throws(FeedFile.Fault) -> FeedFile {
        let path = verdicts[index].path
        switch kind {
        case .keys: return try verifyKeys(path, of: key)
        case .head: return try verifyHead(path, at: index)
        case .batch: return try verifyBatch(path)
        }
    }

    private mutating func verifyKeys(
        _ path: String, of key: FeedKey
    ) throws(FeedFile.Fault) -> FeedFile {
        let chain = try FeedFile.keys(Self.open(path), of: key)
        guard chain.continues(cursor.chain) || cursor.chain.continues(chain) else {
            throw .refused(.badSignature)
        }
        // Old heads among the files may be signed by any of them.
        if chain.continues(cursor.chain) { cursor = FeedCursor(chain: chain) }
        return .keys(chain)
    }

    private mutating func verifyHead(
        _ path: String, at index: Int
    ) throws(FeedFile.Fault) -> FeedFile {
        let (head, signer, leaf, proof) = try FeedFile.head(Self.open(path), cursor: cursor)
        try register(head)
        cursor.adopt(head, signedBy: signer)
        proofs.add(head, leaf, proof, cursor, at: index)
        // Proofs are held against the heads when all are known.
        return .head(head, nil)
    }

    /// Registers the batches of a head. Two heads with different batches of one number are a fork.
    private mutating func register(_ head: FeedHead) throws(FeedFile.Fault) {
        guard head.sequence > 0, head.count > 0 else { return }
        if let other = newest[head.sequence], other != head.headerHash {
            throw .refused(.fork(sequence: head.sequence))
        }
        for sequence in head.firstSequence...head.sequence {
            if let other = named[sequence], other != head.suffix(of: sequence) {
                throw .refused(.fork(sequence: sequence))
            }
        }
        for sequence in head.firstSequence...head.sequence {
            named[sequence] = head.suffix(of: sequence)
        }
        newest[head.sequence] = head.headerHash
    }

    private func verifyBatch(_ path: String) throws(FeedFile.Fault) -> FeedFile {
        let (header, hash) = try FeedFile.batch(Self.open(path), cursor: cursor)
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        // Any other name is the user's own choice.
        guard
            !FeedHead.isBatchName(name) || name == FeedHead.batchName(header.sequence, hash.suffix)
        else { throw .misnamed }
        return .batch(header, hash)
    }

    private mutating func checkChain(_ indices: [Int]) {
        var hashes: [UInt64: HeaderHash] = [:]
        var forked: Set<UInt64> = []
        let results = indices.compactMap { try? verdicts[$0].result.get() }
        for case .batch(let header, let hash) in results {
            if let other = hashes.updateValue(hash, forKey: header.sequence), other != hash {
                forked.insert(header.sequence)
            }
        }
        for index in indices {
            guard case .success(.batch(let header, let hash)) = verdicts[index].result,
                let fault = fault(of: header, hash, among: hashes, forked: forked)
            else { continue }
            verdicts[index].result = .failure(fault)
        }
    }

    private mutating func checkProofs() {
        let (results, proven) = proofs.check()
        for index in verdicts.indices {
            guard case .success(.head(let head, _)) = verdicts[index].result else { continue }
            verdicts[index].isProven = proven.contains(index)
            switch results[index] {
            case .success(let proof): verdicts[index].result = .success(.head(head, proof))
            case .failure(let fault): verdicts[index].result = .failure(.proof(fault))
            case nil where proofs.isNeeded && !proven.contains(index):
                verdicts[index].result = .failure(.unproven)
            case nil: break
            }
        }
    }

    private func fault(
        of header: BatchHeader, _ hash: HeaderHash, among hashes: [UInt64: HeaderHash],
        forked: Set<UInt64>
    ) -> FeedFile.Fault? {
        let sequence = header.sequence
        if forked.contains(sequence) { return .refused(.fork(sequence: sequence)) }
        if let suffix = named[sequence], suffix != hash.suffix { return .otherThanHead(sequence) }
        if let whole = newest[sequence], whole != hash { return .otherThanHead(sequence) }
        guard sequence > 1 else {
            return header.previous == .none && sequence == 1 ? nil : .chain(after: 0)
        }
        let before = sequence - 1
        if forked.contains(before) { return nil }
        let fits =
            hashes[before] ?? header.previous == header.previous
            && named[before] ?? header.previous.suffix == header.previous.suffix
        return fits ? nil : .chain(after: before)
    }
}
