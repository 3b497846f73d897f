import Glibc
import Reveille
import WakeCommand
import WakeFeed
import WakeModel
import WakeSystem

let verifyCommand = Command(
    "verify", "check downloaded feed files, without any request",
    operands: [.init("FILE", "heads, batches and keys, or directories of them", .many)],
    options: [
        .init("--key", value: "KEY", "the feed's public key, instead of the profile's"),
        .init("--json", "as JSON"),
    ] + Profile.options,
    examples: [
        "reveille-client verify head b/*", "reveille-client verify /media/stick/feed --key KEY",
    ],
    notes: """
        Signature, hash and code of each file, then whether they fit to each other: batches to the
        batch before, and to what heads name. A key that took over is known from the feed's file
        keys, if that is among the files, or from what the profile has seen. Exit status 0: all are
        as they were signed; 65: one is not; 74: one cannot be read.
        """
) { invocation throws(CommandFailure) in
    guard !invocation.operands.isEmpty else {
        throw .usage("FILE is missing", hint: "see verify --help")
    }
    let (key, known) = try feedKeys(invocation)
    var paths: [String] = []
    for operand in invocation.operands { paths += try files(in: operand) }
    let console = Console()
    let files = FeedArchive(paths, key: key, known: known) { done, all in
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

/// The feed's key, and those that the profile has seen follow it.
private func feedKeys(
    _ invocation: Invocation
) throws(CommandFailure) -> (key: FeedKey, known: KeyChain?) {
    if let text = invocation.value("--key") {
        guard let key = FeedKey(text: text) else {
            throw .usage("--key takes 43 characters of base64url")
        }
        return (key, nil)
    }
    // The configuration was checked, key and all, when it was read.
    let configuration = try Profile(invocation).configuration()
    guard let key = FeedKey(text: configuration.feedKey) else {
        throw CommandFailure(ClientError.configuration(.feedKey))
    }
    // Another feed's state, or one that cannot be read, is no reason not to verify.
    let known = try? ProfileAccess(configuration).keys()
    return (key, known.flatMap { $0.contains(key) ? $0 : nil })
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

/// Names of files may hold anything, also what a terminal obeys.
private func printable(_ path: String) -> [UInt8] {
    path.unicodeScalars.flatMap { scalar in
        let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        return Array((isControl ? "?" : String(scalar)).utf8)
    }
}

private func verdictLine(_ verdict: FeedArchive.Verdict) -> [UInt8] {
    let text =
        switch verdict.result {
        case .success(.head(let head)):
            "ok, head, \(head.count) batches, fingerprint \(FeedFingerprint(head).text)"
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
    return printable(verdict.path) + Array(": \(text)\n".utf8)
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
        case .success(.head(let head)):
            valid("head", head.sequence, head.issued)
            text.member("expires", number: head.expires)
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

extension FeedFile.Fault {
    fileprivate var isUnreadable: Bool {
        switch self {
        case .unreadable, .notRegular: true
        case .notOfAFeed, .refused, .misnamed, .chain, .otherThanHead: false
        }
    }

    /// A stable word for scripts, and a description for people.
    fileprivate var texts: (code: StaticString, description: String) {
        switch self {
        case .unreadable(let error): ("unreadable", error.reason)
        case .notRegular: ("not-a-file", "it is no regular file")
        case .notOfAFeed: ("not-of-a-feed", "it is neither a head nor a batch nor keys")
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
