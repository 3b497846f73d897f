import WakeCommand
import WakeFeed
import WakeFetch
import WakeModel
import WakePublish
import WakeServer
import WakeSystem

/// One visit of a monitor to a feed's log: what clients are served, and every entry that it has not
/// reviewed yet.
struct FeedMonitorVisit {
    struct Result {
        var findings: [LogFinding]
        /// Findings beyond those.
        var omitted = 0
        let size: UInt64
        let read: UInt64
        /// The tree for the next visit to build on; nil when the log contradicts itself or the last
        /// one.
        var log: MonitoredLog?
        /// Signed by the publisher: what shows others that a finding is true.
        var evidence: Evidence?
    }

    enum Evidence {
        /// The checkpoint of the last visit, and the one of now.
        case checkpoints([UInt8], [UInt8])
        /// A head that the log does not have.
        case head([UInt8])

        /// What its file is called after the one of `--since`.
        var ending: String {
            switch self {
            case .checkpoints: ".evidence"
            case .head: ".evidence-head"
            }
        }

        var bytes: [UInt8] {
            switch self {
            case .checkpoints(let before, let after): before + [UInt8(ascii: "\n")] + after
            case .head(let head): head
            }
        }
    }

    private let feed: RemoteFeed
    private let key: FeedKey
    private let policy: WitnessPolicy?
    /// Whether what is found in the entries counts as known from now on.
    private let accepting: Bool

    init(_ feed: RemoteFeed, _ key: FeedKey, _ policy: WitnessPolicy?, accepting: Bool) {
        self.feed = feed
        self.key = key
        self.policy = policy
        self.accepting = accepting
    }

    func run(since known: MonitoredLog?) async throws(CommandFailure) -> Result {
        let keys = try await fetch("keys", limit: FeedLimits.keysBytes)
        guard let chain = try? KeyChain(keys.span), chain.contains(key) else {
            throw CommandFailure("the key does not belong to this feed", status: .badData)
        }
        // The head first: a log that is read later has it, unless it never will.
        let file = try await fetch("head", limit: FeedLimits.headFileBytes)
        guard let (bytes, proof) = try? FeedHead.split(file),
            let head = FeedHead(bytes, signedBy: chain)
        else {
            throw CommandFailure("the head is not signed with the feed's key", status: .badData)
        }
        let note = try await fetch("checkpoint", limit: FeedLimits.proofBytes)
        guard let signed = SignedCheckpoint(note), signed.checkpoint.size > 0,
            let origin = NoteKeyName(signed.checkpoint.origin)
        else { throw CommandFailure("the checkpoint is none", status: .badData) }
        let size = signed.checkpoint.size
        guard signed.isSigned(by: chain, as: origin) else {
            // Anybody may have made it: nothing of it counts.
            return Result(findings: [.badSignature], size: size, read: 0)
        }
        guard size <= LogAudit.sizeLimit else {
            throw CommandFailure("the log is larger than that of any feed", status: .badData)
        }
        if let known, known.origin != origin || size < known.size {
            return Result(
                findings: [known.origin == origin ? .rollback : .otherHistory], size: size, read: 0,
                evidence: .checkpoints(known.checkpoint, signed.bytes))
        }
        var result = try await read(signed, chain, since: known, looking: bytes, proof)
        result.findings.insert(contentsOf: cosignatures(of: signed, chain, origin, head), at: 0)
        if result.log != nil { result.findings += try await missingBatches(of: head) }
        return result
    }

    private func cosignatures(
        of signed: SignedCheckpoint, _ chain: KeyChain, _ origin: NoteKeyName, _ head: FeedHead
    ) -> [LogFinding] {
        guard let policy else { return [] }
        guard policy.allows(origin, of: chain) else { return [.otherLog] }
        guard let results = try? signed.note.verify(policy.witnesses.map(\.key)) else {
            return [.badSignature]
        }
        let oldest = Int64(SystemClock.wallSeconds) - FeedLimits.clockToleranceSeconds - head.life
        let cosigned = results.indices.filter { results[$0] != nil }
        let fresh = cosigned.filter { results[$0]?.time ?? 0 >= oldest }
        guard policy.isQuorum(Set(cosigned)) else { return [.noQuorum] }
        return policy.isQuorum(Set(fresh)) ? [] : [.staleCosignature]
    }

    // MARK: The log

    /// Reads the entries that were not reviewed, and some before them to compare with; all of them
    /// count because they lead to the known tree and to the checkpoint's.
    private func read(
        _ signed: SignedCheckpoint, _ chain: KeyChain, since known: MonitoredLog?,
        looking head: [UInt8], _ proof: [UInt8]
    ) async throws(CommandFailure) -> Result {
        let tree = signed.checkpoint
        let reviewed = known?.reviewed ?? 0
        let first = reviewed - min(reviewed, LogAudit.memory)
        var audit = LogAudit(chain, after: try await frontier(of: first, in: tree.size))
        var isLogged = false
        func result(_ finding: LogFinding?, _ evidence: Evidence? = nil) -> Result {
            Result(
                findings: (finding.map { [$0] } ?? []) + audit.findings, omitted: audit.omitted,
                size: tree.size, read: tree.size - (known?.size ?? 0), evidence: evidence)
        }
        func contradiction() -> Result? {
            guard let known, audit.size == known.size, audit.root != known.root else { return nil }
            var result = result(.otherHistory, .checkpoints(known.checkpoint, signed.bytes))
            result.findings = [.otherHistory]
            return result
        }
        if let contradiction = contradiction() { return contradiction }
        while audit.size < tree.size {
            Console().progress("reading entry \(audit.size) of \(tree.size)")
            let tile = LogTile(
                .entries, index: audit.size / UInt64(LogTile.width), size: tree.size)
            let bytes = try await self.tile(tile, bytesEach: FeedLimits.headBytes + 2)
            guard let entries = EntryBundle.decode(bytes, count: tile.width) else {
                throw Self.wrongSize
            }
            for (index, entry) in zip(tile.range, entries) where index >= first {
                if entry == head { isLogged = true }
                if index < reviewed { audit.resume(with: entry) } else { audit.add(entry) }
                if let contradiction = contradiction() { return contradiction }
                if audit.isFull { return result(nil) }
            }
        }
        Console().endProgress()
        guard audit.root == tree.root else { return result(.wrongTiles) }
        isLogged = isLogged || Self.proves(proof, head, in: tree)
        var whole = result(isLogged ? nil : .unloggedHead, isLogged ? nil : .head(head))
        let isReviewed = accepting || audit.findings.isEmpty
        if let origin = NoteKeyName(tree.origin) {
            whole.log = MonitoredLog(
                origin: origin, signed, reviewed: isReviewed ? tree.size : reviewed)
        }
        return whole
    }

    /// The tree of a former size, from the tiles of now.
    private func frontier(
        of old: UInt64, in size: UInt64
    ) async throws(CommandFailure) -> MerkleFrontier {
        var (roots, tiles): ([TreeHash], [LogTile: [TreeHash]]) = ([], [:])
        for subtree in MerkleProofPlan.root(of: old).parts.first ?? [] {
            let tile = LogTile(holding: subtree, size: size)
            var hashes = tiles[tile]
            if hashes == nil {
                let bytes = try await self.tile(tile, bytesEach: TreeHash.count)
                hashes = tile.hashes(bytes)
            }
            guard let hashes else { throw Self.wrongSize }
            tiles[tile] = hashes
            roots.append(LogTile.root(of: subtree, in: hashes))
        }
        return MerkleFrontier(size: old, roots: roots)
    }

    /// A partial tile may have been followed by a full one meanwhile (C2SP tlog-tiles).
    private func tile(_ tile: LogTile, bytesEach: Int) async throws(CommandFailure) -> [UInt8] {
        do throws(FetchError) {
            return try await feed.fetch(tile.path, limit: tile.width * bytesEach)
        } catch {
            guard !tile.isFull, error == .protocolViolation else {
                throw FeedVerifyCommand.failure(error)
            }
        }
        let full = try await fetch(tile.full.path, limit: LogTile.width * bytesEach)
        return Array(full.prefix(tile.byteCount { Array(full.dropFirst($0).prefix(2)) } ?? 0))
    }

    /// A head of an earlier visit: its proof shows that it is in the log that was read.
    private static func proves(
        _ proof: [UInt8], _ head: [UInt8], in tree: LogCheckpoint
    ) -> Bool {
        guard let proof = LogProof(proof) else { return false }
        return proof.checkpoint.checkpoint == tree && proof.includes(MerkleTree.leaf(head.span))
    }

    /// Every batch that the head names comes as it names it.
    private func missingBatches(of head: FeedHead) async throws(CommandFailure) -> [LogFinding] {
        var findings: [LogFinding] = []
        for sequence in head.firstSequence..<head.sequence + 1 {
            guard let name = head.batchName(for: sequence) else { continue }
            Console().progress("looking at batch \(sequence) of \(head.sequence)")
            let limit = FeedLimits.headerBytes + FeedLimits.payloadBytes
            do throws(FetchError) {
                if head.names(try await feed.fetch("b/" + name, limit: limit), as: sequence) {
                    continue
                }
            } catch {
                // A line that fails says nothing of the feed.
                guard error == .protocolViolation || error == .tooLarge else {
                    throw FeedVerifyCommand.failure(error)
                }
            }
            findings.append(.missingBatch(sequence: sequence))
        }
        Console().endProgress()
        return findings
    }

    private func fetch(_ path: String, limit: Int) async throws(CommandFailure) -> [UInt8] {
        do throws(FetchError) {
            return try await feed.fetch(path, limit: limit)
        } catch { throw FeedVerifyCommand.failure(error) }
    }

    private static let wrongSize = CommandFailure("a tile has a wrong size", status: .badData)
}
