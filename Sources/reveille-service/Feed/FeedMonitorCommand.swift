import WakeCommand
import WakeFeed
import WakeFetch
import WakeModel
import WakeServer
import WakeSystem

/// `reveille feed monitor`: the log of a feed's heads, read by somebody who trusts its publisher
/// with nothing.
enum FeedMonitorCommand {
    static let command = Command(
        "feed monitor", "read the log of a feed's heads, and report what is odd",
        operands: [.init("URL", "the feed's address, without head")],
        options: [
            .init("--key", value: "KEY", "one of the feed's public keys, in base64url"),
            .init("--policy", value: "FILE", "the witnesses that must have cosigned"),
            .init(
                "--since", value: "FILE",
                "the tree of the last time, which the log must contain; written at the end"),
            .json,
        ],
        examples: [
            "reveille feed monitor https://feed.example.org/feed --key KEY --since feed.monitor"
        ],
        notes: """
            Whoever holds the feed's key can sign a head for one person. Clients with a policy of
            witnesses believe no head that is not in the log, and this reads all that is in it: two
            batches of one number, a batch that was named once, a pause, the end of the feed, times
            that go back, batches that do not come. Ends with 3 when there is any.
            """,
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        guard let text = invocation.value("--key"), let key = FeedKey(text: text) else {
            throw .usage(
                "--key is no feed's public key",
                hint: "`reveille feed key` prints it: 43 characters of base64url")
        }
        let policy = try invocation.path("--policy").map { path throws(CommandFailure) in
            let bytes = try Console().contents(of: path, limit: WitnessPolicy.byteLimit)
            return try mapError({ CommandFailure("\(path): \($0.message)", status: .badData) }) {
                () throws(WitnessPolicyError) in try WitnessPolicy(bytes)
            }
        }
        let file = try invocation.path("--since").map { StateFile<MonitoredLog>($0) }
        let known = try file.map { file throws(CommandFailure) in
            try mapError({ CommandFailure($0.message, status: .badData) }) {
                () throws(StateFileError) in try file.readIfPresent()
            }
        }
        let feed = try mapError(FeedVerifyCommand.failure, try RemoteFeed(invocation.operands[0]))
        let visit = try await MonitorVisit(feed, key, policy).run(since: known ?? nil)
        // A log that contradicts the known one does not take its place.
        if let file, let log = visit.log {
            try mapError({ CommandFailure($0.message, status: .ioError) }) {
                () throws(StateFileError) in try file.write(log)
            }
        }
        show(visit, json: invocation.flag("--json"))
        return visit.findings.isEmpty ? .success : .violations
    }

    private static func show(_ visit: MonitorVisit.Result, json: Bool) {
        guard json else {
            for finding in visit.findings {
                let place = finding.index.map { "entry \($0): " } ?? ""
                Console().out("\(finding.code): \(place)\(finding.message)")
            }
            return Console().out(
                "\(visit.size) heads in the log, \(visit.read) of them new; "
                    + "\(visit.findings.count) findings")
        }
        Console().json { text in
            text.member("heads", number: visit.size)
            text.member("new", number: visit.read)
            text.beginArray("findings")
            for finding in visit.findings {
                text.beginObject()
                text.member("code", string: finding.code)
                if let index = finding.index { text.member("entry", number: index) }
                if let sequence = finding.sequence { text.member("batch", number: sequence) }
                text.member("message", string: finding.message)
                text.endObject()
            }
            text.endArray()
        }
    }
}

/// One visit of a monitor to a feed's log.
private struct MonitorVisit {
    struct Result {
        var findings: [LogFinding]
        let size: UInt64
        let read: UInt64
        /// The tree for the next visit to build on; nil when the log contradicts itself or the last
        /// one.
        let log: MonitoredLog?
    }

    private let feed: RemoteFeed
    private let key: FeedKey
    private let policy: WitnessPolicy?

    init(_ feed: RemoteFeed, _ key: FeedKey, _ policy: WitnessPolicy?) {
        self.feed = feed
        self.key = key
        self.policy = policy
    }

    func run(since known: MonitoredLog?) async throws(CommandFailure) -> Result {
        let keys = try await fetch("keys", limit: FeedLimits.keysBytes)
        guard let chain = try? KeyChain(keys.span), chain.contains(key) else {
            throw CommandFailure("the key is none of the feed's keys", status: .badData)
        }
        // The head first: a log that is read later has it, unless it never will.
        let head = try await fetch("head", limit: FeedLimits.headBytes)
        let bytes = try await fetch("checkpoint", limit: FeedLimits.proofBytes)
        guard let signed = SignedCheckpoint(bytes),
            let origin = NoteKeyName(signed.checkpoint.origin)
        else { throw CommandFailure("the checkpoint is none", status: .badData) }
        let tree = signed.checkpoint
        var findings = signatures(of: signed, chain, origin)
        if let known, known.origin != origin || tree.size < known.size {
            findings.append(known.origin == origin ? .rollback : .otherHistory)
            return Result(findings: findings, size: tree.size, read: 0, log: nil)
        }
        let old = known?.size ?? 0
        var audit = LogAudit(chain, after: try await frontier(of: old, in: tree.size))
        if let known, audit.root != known.root {
            findings.append(.otherHistory)
            return Result(findings: findings, size: tree.size, read: 0, log: nil)
        }
        var isLogged = try await read(&audit, from: old, to: tree.size, looking: head)
        guard audit.root == tree.root else {
            findings.append(.wrongTiles)
            return Result(
                findings: findings + audit.findings, size: tree.size, read: tree.size - old,
                log: nil)
        }
        if !isLogged { isLogged = try await isProven(head, in: tree) }
        if !isLogged { findings.append(.unloggedHead) }
        findings += audit.findings
        findings += try await missingBatches(of: head, chain)
        return Result(
            findings: findings, size: tree.size, read: tree.size - old,
            log: findings.contains(.badSignature)
                ? nil : MonitoredLog(origin: origin, size: tree.size, root: tree.root))
    }

    private func signatures(
        of signed: SignedCheckpoint, _ chain: KeyChain, _ origin: NoteKeyName
    ) -> [LogFinding] {
        guard signed.isSigned(by: chain, as: origin) else { return [.badSignature] }
        guard let policy else { return [] }
        guard let results = try? signed.note.verify(policy.witnesses.map(\.key)) else {
            return [.badSignature]
        }
        let places = Set(results.indices.filter { results[$0] != nil })
        return policy.isQuorum(places) ? [] : [.noQuorum]
    }

    /// The tree of the last time, from the tiles of now.
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

    /// - Returns: whether the head is one of the entries.
    private func read(
        _ audit: inout LogAudit, from old: UInt64, to size: UInt64, looking head: [UInt8]
    ) async throws(CommandFailure) -> Bool {
        var isLogged = false
        // The entry before the first new one is read again, and compared with.
        let first = old == 0 ? 0 : old - 1
        for tile in LogTile.covering(.entries, first..<size, size: size) {
            Console().progress("reading entry \(tile.range.lowerBound) of \(size)")
            let bytes = try await self.tile(tile, bytesEach: FeedLimits.headBytes + 2)
            guard let entries = EntryBundle.decode(bytes, count: tile.width) else {
                throw Self.wrongSize
            }
            for (index, entry) in zip(tile.range, entries) where index >= first {
                if entry == head { isLogged = true }
                if index >= old { audit.add(entry) } else { audit.resume(with: entry) }
            }
        }
        Console().endProgress()
        return isLogged
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
        return Array(full.prefix(tile.width * bytesEach))
    }

    /// A head of an earlier visit: its proof shows that it is in the log that was read.
    private func isProven(
        _ head: [UInt8], in tree: LogCheckpoint
    ) async throws(CommandFailure) -> Bool {
        let bytes = try await fetch("proof", limit: FeedLimits.proofBytes)
        guard let proof = LogProof(bytes) else { return false }
        return proof.checkpoint.checkpoint == tree && proof.includes(MerkleTree.leaf(head.span))
    }

    /// Every batch that the head names comes with the header that it names.
    private func missingBatches(
        of bytes: [UInt8], _ chain: KeyChain
    ) async throws(CommandFailure) -> [LogFinding] {
        guard let head = FeedHead(bytes, signedBy: chain) else {
            throw CommandFailure("the head is not signed with the feed's key", status: .badData)
        }
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
