import Glibc
import Reveille
import WakeCommand
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

let verifyCommand = Command(
    "verify", "check downloaded feed files, without any request",
    operands: [.init("FILE", "heads, batches and keys, or directories of them", .many)],
    options: [
        .init("--key", value: "KEY", "the feed's public key, instead of the profile's"),
        .init(
            "--witnesses", value: "FILE",
            "the policy of witnesses, instead of the profile's: no head is right without a proof"),
        .init("--json", "as JSON"),
    ] + Profile.options,
    examples: [
        "reveille-client verify head b/*",
        "reveille-client verify /media/stick/feed --key KEY --witnesses POLICY",
    ],
    notes: """
        Signature, hash and code of each file, then whether they fit to each other: batches to the
        batch before, and to what heads name. A key that took over is known from the feed's file
        keys, if that is among the files, or from what the profile has seen.

        With a policy of witnesses, as a client with one: each head needs a proof that the feed's
        log has it, under enough cosignatures: its own, which follows it in its file, or one of the
        next 31 heads. A log has to contain the smaller ones of other heads, and of the profile.
        Without a policy a proof is held against the feed's signature and its head alone.

        Exit status 0: all are as they were signed; 65: one is not; 74: one cannot be read.
        """
) { invocation throws(CommandFailure) in
    guard !invocation.operands.isEmpty else {
        throw .usage("FILE is missing", hint: "see verify --help")
    }
    let feed = try ExpectedFeed(invocation)
    var paths: [String] = []
    for operand in invocation.operands { paths += try files(in: operand) }
    let console = Console()
    let files = FeedArchive(paths, key: feed.key, known: feed.keys, proofs: feed.proofs) {
        done, all in
        console.progress("verified \(done) of \(all) files")
    }
    console.endProgress()
    let verdicts = files.verdicts
    if invocation.flag("--json") {
        console.out(bytes: verdictsJSON(verdicts))
    } else {
        for verdict in verdicts { console.out(bytes: verdictLine(verdict)) }
    }
    return exitStatus(of: verdicts)
}

/// The feed that the files are to be of: by the options, or as the profile knows it.
private struct ExpectedFeed {
    let key: FeedKey
    /// Those that the profile has seen follow each other.
    let keys: KeyChain?
    /// None yet, under the policy in force.
    let proofs: ArchivedProofs

    init(_ invocation: Invocation) throws(CommandFailure) {
        let now = Int64(SystemClock.wallSeconds)
        let given = try invocation.path("--witnesses").map { path throws(CommandFailure) in
            try ProfileFile.checked(policy: ProfileFile.policy(path))
        }
        if let text = invocation.value("--key") {
            guard let key = FeedKey(text: text) else {
                throw .usage("--key takes 43 characters of base64url")
            }
            (self.key, keys) = (key, nil)
            proofs = ArchivedProofs(policy: given, now: now)
            return
        }
        // The configuration was checked, key and all, when it was read.
        let configuration = try Profile(invocation).configuration()
        guard let key = FeedKey(text: configuration.feedKey) else {
            throw CommandFailure(ClientError.configuration(.feedKey))
        }
        self.key = key
        // Another feed's state, or one that cannot be read, is no reason not to verify.
        let profile = try? ProfileAccess(configuration)
        let known = try? profile?.keys()
        keys = known.flatMap { $0.contains(key) ? $0 : nil }
        let log = keys == nil ? nil : try? profile?.log()
        let kept = try configuration.witnesses.map { text throws(CommandFailure) in
            try ProfileFile.checked(policy: Array(text.utf8))
        }
        proofs = ArchivedProofs(policy: given ?? kept, known: log ?? nil, now: now)
    }
}

/// A file as it is; of a directory, laid out as a feed or flat, what is named like a feed's files.
private func files(in path: String) throws(CommandFailure) -> [String] {
    // What is no directory, or none that can be read, is reported as a file.
    guard let here = try? Files.names(in: path) else { return [path] }
    var found: [String] = []
    if here.contains("keys") { found.append(path + "/keys") }
    if here.contains("head") { found.append(path + "/head") }
    found += here.filter(FeedHead.isBatchName).sorted().map { "\(path)/\($0)" }
    if here.contains("b") {
        let batches = (try? Files.names(in: path + "/b")) ?? []
        found += batches.filter(FeedHead.isBatchName).sorted().map { "\(path)/b/\($0)" }
    }
    guard !found.isEmpty else {
        throw CommandFailure(
            "no head and no batch in a directory that was given",
            hint: "files of other names are given one by one", status: .ioError)
    }
    return found
}

private func exitStatus(of verdicts: [FeedArchive.Verdict]) -> ExitStatus {
    var status = ExitStatus.success
    for case .failure(let fault) in verdicts.map(\.result) {
        guard fault.isUnreadable else { return .badData }
        status = .ioError
    }
    return status
}

// MARK: Output

private func verdictLine(_ verdict: FeedArchive.Verdict) -> [UInt8] {
    let text =
        switch verdict.result {
        case .success(.head(let head, let proof)):
            "ok, head, \(head.count) batches, fingerprint \(FeedFingerprint(head).text)"
                + (verdict.isProven ? ", in the log" : "") + (proof?.text ?? "")
        case .success(.batch(let header, _)):
            "ok, batch \(header.sequence), \(header.count) digests, "
                + "false matches 2^-\(header.budget.bits)"
        case .success(.keys(let chain)):
            chain.keys.count == 1
                ? "ok, 1 key, \(chain.newest.text)"
                : "ok, \(chain.keys.count) keys, the newest is \(chain.newest.text)"
        case .failure(let fault):
            (fault.isUnreadable ? "unreadable, " : "BAD, ") + fault.texts.description
        }
    return Array("\(Console.printable(verdict.path, isLine: true)): \(text)\n".utf8)
}

private func verdictsJSON(_ verdicts: [FeedArchive.Verdict]) -> [UInt8] {
    var text = JSONText(capacity: 256 * (verdicts.count + 1))
    var counts = (ok: 0, bad: 0, unreadable: 0)
    func valid(_ kind: StaticString, _ sequence: UInt64, _ issued: some BinaryInteger) {
        counts.ok += 1
        text.member("result", string: "ok")
        text.member("kind", string: kind)
        text.member("sequence", number: sequence)
        text.member("issued", number: issued)
    }
    text.beginObject()
    text.beginArray("files")
    for verdict in verdicts {
        text.beginObject()
        text.member("path", string: verdict.path)
        switch verdict.result {
        case .success(.head(let head, let proof)):
            valid("head", head.sequence, head.issued)
            text.member("expires", number: head.expires)
            text.member("proven", bool: verdict.isProven)
            guard let proof else { break }
            text.member("entry", number: proof.index)
            text.member("heads", number: proof.size)
            if let cosigners = proof.cosigners { text.member("cosigned", number: cosigners) }
            text.member("stale", bool: proof.isStale)
        case .success(.batch(let header, _)):
            valid("batch", header.sequence, header.issued)
            text.member("digests", number: header.count)
            text.member("falseMatchBits", number: header.budget.bits)
        case .success(.keys(let chain)):
            counts.ok += 1
            text.member("result", string: "ok")
            text.member("kind", string: "keys")
            text.member("keys", number: chain.keys.count)
        case .failure(let fault):
            if fault.isUnreadable { counts.unreadable += 1 } else { counts.bad += 1 }
            text.member("result", string: fault.isUnreadable ? "unreadable" : "bad")
            text.member("reason", string: fault.texts.code)
        }
        text.endObject()
    }
    text.endArray()
    text.member("ok", number: counts.ok)
    text.member("bad", number: counts.bad)
    text.member("unreadable", number: counts.unreadable)
    text.endObject()
    return text.bytes + [0x0A]
}

extension ArchivedProofs.Proof {
    fileprivate var text: String {
        ", entry \(index) of \(size)"
            + (cosigners.map { ", cosigned by \($0) of the policy's witnesses" } ?? "")
            + (isStale ? ", LONGER AGO than a head lives" : "")
    }
}

extension HeadProofFault {
    fileprivate var texts: (code: StaticString, description: String) {
        switch self {
        case .malformed: ("malformed-proof", "what follows the head is no proof")
        case .otherHead: ("other-head", "its proof is of another head")
        case .otherLog: ("other-log", "its proof is of another log than this feed's")
        case .badSignature:
            (
                "bad-signature",
                "its checkpoint is not signed with this feed's key, or a cosignature "
                    + "is false"
            )
        case .noQuorum: ("no-quorum", "too few of the policy's witnesses have cosigned it")
        case .rollback: ("rollback", "its log is smaller than another's")
        case .otherHistory:
            (
                "other-history",
                "its log does not contain the one of another head, or the one that "
                    + "the profile accepted: some client sees another feed"
            )
        }
    }
}

extension FeedFile.Fault {
    fileprivate var isUnreadable: Bool {
        switch self {
        case .unreadable, .notRegular: true
        case .notOfAFeed, .refused, .misnamed, .chain, .otherThanHead, .proof, .unproven: false
        }
    }

    /// A stable word for scripts, and a description for people.
    fileprivate var texts: (code: StaticString, description: String) {
        switch self {
        case .unreadable(let error): ("unreadable", error.reason)
        case .notRegular: ("not-a-file", "it is no regular file")
        case .notOfAFeed: ("not-of-a-feed", "it is no head, batch or file of keys")
        case .unproven: ("unproven", "no proof shows that the feed's log has it")
        case .proof(let fault): fault.texts
        case .misnamed: ("misnamed", "it holds another batch than its name says")
        case .chain(let sequence): ("chain", "it does not follow batch \(sequence)")
        case .otherThanHead(let sequence):
            ("other-than-head", "a head names another batch \(sequence)")
        case .refused(.truncated): ("truncated", "its end is missing")
        case .refused(.tooLarge): ("too-large", "it is longer than it may be")
        case .refused(.badSignature): ("bad-signature", "it is not signed with this feed's key")
        case .refused(.wrongFeed): ("wrong-feed", "it is signed for another feed")
        case .refused(.rollback): ("rollback", "it is older than another")
        case .refused(.fork(let sequence)):
            ("fork", "two different batches were signed as number \(sequence)")
        case .refused(.malformedHead):
            ("malformed-head", "it is signed, but no head of this version")
        case .refused(.malformedKeys): ("malformed-keys", "it is signed, but no file of keys")
        case .refused(.corruptBatch(.payloadHash)):
            ("payload-hash", "its contents are not what was signed")
        case .refused(.corruptBatch(.code)):
            ("code", "it is signed, but its digests cannot be decoded")
        case .refused(.corruptBatch):
            ("malformed-batch", "it is signed, but no batch of this version")
        }
    }
}
