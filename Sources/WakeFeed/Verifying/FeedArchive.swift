private import Glibc
private import WakeSystem

/// A verifier of downloaded files of one feed, in any order, without any request: each by itself,
/// then against the others. It keeps only the header of each file.
package struct FeedArchive {
    /// The result for one file.
    package struct Verdict: Sendable {
        package let path: String
        package var result: Result<FeedFile, FeedFile.Fault>
    }

    /// In the order of the given paths.
    package private(set) var verdicts: [Verdict]
    /// Knows the keys: the first, and those that verified heads announced.
    private var cursor: FeedCursor
    /// The suffixes of batches that heads name.
    private var named: [UInt64: BatchSuffix] = [:]
    /// The whole hash of each head's newest batch.
    private var newest: [UInt64: HeaderHash] = [:]

    /// - Parameters:
    ///   - paths: may be links.
    ///   - key: the feed's first.
    ///   - progress: called after each file with the number done and the total.
    package init(
        _ paths: [String], key: FeedKey, progress: (Int, Int) -> Void = { _, _ in }
    ) {
        cursor = FeedCursor(key: key)
        verdicts = []
        var heads: [(issued: UInt64, index: Int)] = []
        var batches: [Int] = []
        for (index, path) in paths.enumerated() {
            do throws(FeedFile.Fault) {
                switch try FeedFile.kind(of: Self.open(path)) {
                case .head(let issued): heads.append((issued, index))
                case .batch: batches.append(index)
                }
                verdicts.append(Verdict(path: path, result: .failure(.notOfAFeed)))
            } catch {
                verdicts.append(Verdict(path: path, result: .failure(error)))
            }
        }
        // Oldest heads first: they announce the keys of later ones, and of batches.
        heads.sort { ($0.issued, $0.index) < ($1.issued, $1.index) }
        var done = verdicts.count - heads.count - batches.count
        for index in heads.map(\.index) + batches {
            let isHead = done < verdicts.count - batches.count
            verdicts[index].result = isHead ? verifyHead(paths[index]) : verifyBatch(paths[index])
            done += 1
            progress(done, paths.count)
        }
        checkChain(batches)
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

    // MARK: One by one

    private mutating func verifyHead(_ path: String) -> Result<FeedFile, FeedFile.Fault> {
        do throws(FeedFile.Fault) {
            let (head, signer) = try FeedFile.head(Self.open(path), cursor: cursor)
            try register(head)
            cursor.adopt(head, signedBy: signer)
            return .success(.head(head))
        } catch {
            return .failure(error)
        }
    }

    /// Registers the batches a head names. Two heads that name different batches of one number were
    /// signed for two audiences.
    private mutating func register(_ head: FeedHead) throws(FeedFile.Fault) {
        guard head.sequence > 0, head.count > 0 else { return }
        if let other = newest[head.sequence], other != head.headerHash {
            throw .refused(.fork(sequence: head.sequence))
        }
        for sequence in head.firstSequence...head.sequence {
            let suffix = head.suffix(of: sequence)
            if let other = named[sequence], other != suffix {
                throw .refused(.fork(sequence: sequence))
            }
        }
        for sequence in head.firstSequence...head.sequence {
            named[sequence] = head.suffix(of: sequence)
        }
        newest[head.sequence] = head.headerHash
    }

    private func verifyBatch(_ path: String) -> Result<FeedFile, FeedFile.Fault> {
        do throws(FeedFile.Fault) {
            let (header, hash) = try FeedFile.batch(Self.open(path), cursor: cursor)
            let name = path.split(separator: "/").last.map(String.init) ?? ""
            // Any other name is the user's own choice.
            let isPublished = FeedHead.isBatchName(name)
            guard !isPublished || name == FeedHead.batchName(header.sequence, hash.suffix) else {
                throw .misnamed
            }
            return .success(.batch(header, hash))
        } catch {
            return .failure(error)
        }
    }

    // MARK: Against each other

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
        if let previous = hashes[before], previous != header.previous {
            return .chain(after: before)
        }
        if let suffix = named[before], suffix != header.previous.suffix {
            return .chain(after: before)
        }
        return nil
    }
}
