import WakeCommand
import WakeFeed
import WakeFetch
import WakeModel
import WakePublish
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
            .init("--accept", "what is found in the log now is known: report what comes after it"),
            .json,
        ],
        examples: [
            "reveille feed monitor https://feed.example.org/feed --key KEY --policy FILE "
                + "--since feed.monitor"
        ],
        notes: """
            The holder of the feed's key can sign a head for one person. Clients with a policy of
            witnesses believe no head that is not in the log, and this reads all that is in it: two
            batches of one number, a batch that was named and is named no more, a pause, the end of
            the feed, times that go back, batches that do not come. Ends with 3 when there is any,
            each time, until `--accept` says that it is known. A log that contradicts the one of the
            last time, or is smaller, is never taken for it: both checkpoints, or a head that is not
            in the log, are kept beside the file of `--since`, under its name and `.evidence`. They
            are signed: show them to others.
            """,
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        guard let text = invocation.value("--key"), let key = FeedKey(text: text) else {
            throw .usage(
                "--key is no feed's public key",
                hint: "`reveille feed key` prints it: 43 characters of base64url")
        }
        let policy = try invocation.path("--policy").map { path throws(CommandFailure) in
            let bytes = try Console().contents(
                of: path, limit: WitnessPolicy.byteLimit, status: .configuration)
            return try mapError({
                CommandFailure("\(path): \($0.message)", status: .configuration)
            }) { () throws(WitnessPolicyError) in try WitnessPolicy(bytes) }
        }
        let file = try invocation.path("--since").map { StateFile<MonitoredLog>($0) }
        let known = try file.map { file throws(CommandFailure) in
            try mapError({ (error: StateFileError) in
                let isData = error.fault == .damaged || error.fault == .tooLarge
                return CommandFailure(error.message, status: isData ? .badData : .ioError)
            }) { () throws(StateFileError) in try file.readIfPresent() }
        }
        let feed = try mapError(FeedVerifyCommand.failure, try RemoteFeed(invocation.operands[0]))
        let visit = try await FeedMonitorVisit(
            feed, key, policy, accepting: invocation.flag("--accept")
        ).run(since: known ?? nil)
        if let file {
            try keep(visit.evidence, beside: file.path)
            // A log that contradicts the known one does not take its place.
            if let log = visit.log {
                try mapError({ CommandFailure($0.message, status: .ioError) }) {
                    () throws(StateFileError) in try file.write(log)
                }
            }
        }
        show(visit, json: invocation.flag("--json"))
        return visit.findings.isEmpty ? .success : .violations
    }

    /// Keeps the first evidence: what is served later may be no proof any more.
    private static func keep(
        _ evidence: FeedMonitorVisit.Evidence?, beside path: String
    ) throws(CommandFailure) {
        guard let evidence else { return }
        let (name, bytes) = (path + evidence.ending, evidence.bytes)
        guard !Files.exists(name) else { return }
        try mapError({ CommandFailure("\(name): \($0.reason)", status: .ioError) }) {
            () throws(FileError) in try Files.replace(name, with: bytes.span)
        }
    }

    private static func show(_ visit: FeedMonitorVisit.Result, json: Bool) {
        guard json else {
            for finding in visit.findings {
                let place = finding.index.map { "entry \($0): " } ?? ""
                Console().out("\(finding.code): \(place)\(finding.message)")
            }
            return Console().out(
                "\(visit.size) heads in the log, \(visit.read) of them new; "
                    + "\(visit.findings.count + visit.omitted) findings"
                    + (visit.omitted > 0 ? ", the first \(visit.findings.count) of them shown" : "")
            )
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
            text.member("omitted", number: visit.omitted)
        }
    }
}
