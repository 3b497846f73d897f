import WakeCommand
import WakeFeed
import WakePublish
import WakeServer
import WakeSystem

/// `reveille feed publish FILE`: new batches, one new head, and a broadcast if asked.
enum FeedPublishCommand {
    static let command = Command(
        "feed publish", "publish digests, or secrets whose digests are derived here",
        operands: [.init("FILE", "one item a line, hexadecimal or base64url; - reads stdin")],
        options: FeedCommands.publishing + [
            .init("--digests", "the items are digests of 16 bytes (default)"),
            .init("--secrets", "the items are secrets of 16 to 1024 bytes"),
            .init(
                "--false-match-bits", value: "BITS",
                "a secret matches a batch by chance once in 2^BITS, 40 to 54 (default 48)"),
            .init(
                "--note-file", value: "FILE", "with --secrets: one line for each item, or for all"),
            .init("--text", "with --secrets: a secret is the text of its line"),
            .init("--raw", value: "BYTES", "items are raw bytes of this length each"),
            .init("--unsalted", "with --secrets: digests stay the same in every batch"),
            .init("--again", "although the same input was published before"),
            .init("--then-broadcast", "when published and verified, wake everyone"),
            .init("--dry-run", "read and check the input, publish nothing"),
        ],
        examples: [
            "reveille feed publish digests.txt --then-broadcast",
            "reveille feed publish secrets.txt --secrets --note-file note.txt",
            "generate | reveille feed publish - --digests --false-match-bits 50",
        ],
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    /// Largest input, bytes: ten million secrets as hexadecimal.
    private static let inputLimit = 1 << 30

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        let feed = try FeedSelection(invocation)
        let options = try options(invocation)
        // Refused before anything is published.
        if invocation.flag("--then-broadcast"), feed.configuration == nil {
            throw .usage(
                "--then-broadcast needs the service's configuration", hint: "add --config FILE")
        }
        let input = try read(invocation)
        let console = Console()
        if invocation.flag("--dry-run") { return try preview(input, options, feed) }
        try applySettings(of: feed)
        let outcome = try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
            try feed.publisher().publish(input, options: options, now: FeedCommands.now)
        }
        let report = try verify(feed)
        switch outcome {
        case .published(let batches):
            console.out(
                "published \(input.count) items as \(name(batches)); "
                    + "the feed verifies: \(report.batches) batches, \(report.bytes) bytes")
        case .alreadyPublished(let batches):
            console.out("already published as \(name(batches)); --again publishes it once more")
        }
        guard invocation.flag("--then-broadcast"), let configuration = feed.configuration else {
            return .success
        }
        return try await broadcast(configuration)
    }

    private static func preview(
        _ input: FeedInput, _ options: PublishOptions, _ feed: FeedSelection
    ) throws(CommandFailure) -> ExitStatus {
        let preview = try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
            try feed.publisher(signing: false).preview(input, options: options)
        }
        switch preview.outcome {
        case .published(let batches):
            Console().out(
                "\(preview.items) items and \(preview.decoys) decoys would be published as "
                    + "\(name(batches)): at most \(preview.bytes) bytes for every client")
        case .alreadyPublished(let batches):
            Console().out("already published as \(name(batches)); nothing would be published")
        }
        return .success
    }

    /// Waits until no cache may hold the old head, then wakes everyone: a client woken earlier
    /// could read the old head and go back to sleep.
    private static func broadcast(
        _ configuration: Configuration
    ) async throws(CommandFailure) -> ExitStatus {
        if configuration.cacheSeconds > 0 {
            Console().progress("waiting \(configuration.cacheSeconds) s for caches of the head")
            try? await Task.sleep(for: .seconds(configuration.cacheSeconds))
            Console().endProgress()
        }
        do throws(CommandFailure) {
            _ = try BroadcastCommand.send(AdminClient(configuration), force: false)
        } catch {
            // A retry after the broadcast was sent.
            guard error == BroadcastCommand.notNewer else { throw error }
            Console().out("already broadcast")
        }
        return .success
    }

    /// Reads the directory back as a client would, before anybody is woken for it.
    private static func verify(_ feed: FeedSelection) throws(CommandFailure) -> FeedVerification {
        let console = Console()
        defer { console.endProgress() }
        return try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
            try FeedDirectory(feed.directory).verify(
                feed.publicKey(), now: FeedCommands.now,
                progress: { done, all in
                    console.progress("verifying \(done * 100 / max(all, 1)) % of \(all) batches")
                })
        }
    }

    /// A change of timing in the configuration reaches clients with the next publish.
    private static func applySettings(of feed: FeedSelection) throws(CommandFailure) {
        guard let wanted = feed.settings else { return }
        try GatewayKeyFile.publish(of: feed)
        try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
            if try feed.presentSettings() != wanted {
                try feed.publisher().resign(settings: wanted, now: FeedCommands.now)
            }
        }
    }

    private static func name(_ batches: ClosedRange<UInt64>) -> String {
        batches.count == 1
            ? "sequence \(batches.lowerBound)"
            : "sequences \(batches.lowerBound) to \(batches.upperBound)"
    }

    private static func read(_ invocation: Invocation) throws(CommandFailure) -> FeedInput {
        let secrets = invocation.flag("--secrets")
        guard !(secrets && invocation.flag("--digests")) else {
            throw .usage("--secrets and --digests exclude each other")
        }
        let file = try Console().contents(of: invocation.operands[0], limit: inputLimit)
        let record = try invocation.integer("--raw", in: 16...1024)
        let isText = invocation.flag("--text")
        guard !isText || secrets && record == nil else {
            throw .usage("--text is for --secrets, and excludes --raw")
        }
        let encoding =
            record.map { FeedInput.Encoding.raw(record: $0) } ?? (isText ? .plain : .text)
        var notes: [UInt8]?
        if let path = invocation.value("--note-file") {
            notes = try Console().contents(of: path, limit: inputLimit)
        }
        do throws(FeedInputError) {
            if secrets { return try FeedInput(secretsFrom: file, notes: notes, encoding: encoding) }
            guard notes == nil else { throw .notesForDigests }
            return try FeedInput(digestsFrom: file, encoding: encoding)
        } catch {
            let isLength = if case .length = error { !secrets } else { false }
            throw CommandFailure(
                error.message,
                hint: isLength ? "digests have 16 bytes; for secrets add --secrets" : nil,
                status: .badData)
        }
    }

    private static func options(_ invocation: Invocation) throws(CommandFailure) -> PublishOptions {
        var options = PublishOptions()
        let bits = try invocation.integer("--false-match-bits", in: FeedLimits.falseMatchBits)
        if let budget = bits.flatMap(FalseMatchBudget.init) { options.budget = budget }
        options.isSalted = !invocation.flag("--unsalted")
        options.again = invocation.flag("--again")
        return options
    }
}
