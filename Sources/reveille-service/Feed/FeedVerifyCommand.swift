import WakeCommand
import WakeFeed
import WakeFetch
import WakeHTTP
import WakeModel
import WakePublish
import WakeServer
import WakeSystem

/// `reveille feed verify`: the whole feed as a new client sees it, from a directory or a URL.
enum FeedVerifyCommand {
    static let command = Command(
        "feed verify", "check a whole feed as a new client would",
        operands: [
            .init("DIR|URL", "a directory, or the feed's address (default: configured)", .optional)
        ],
        options: FeedCommands.options + [
            .init("--public-key", value: "KEY", "the feed's key in base64url, instead of a file"),
            .json,
        ],
        examples: [
            "reveille feed verify",
            "reveille feed verify https://wake.example.org/feed/ --public-key KEY",
        ],
        notes: """
            The exit status is 65 for a feed that does not verify, and 1 for one that does and \
            whose head has expired, or is of a time to come: clients use that, and warn.
            """,
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        let source = invocation.operands.first
        let key = try key(invocation)
        if let source, source.hasPrefix("https://") || source.hasPrefix("http://") {
            return try show(try await verify(url: source, key), invocation)
        }
        let given = try source.map(Environment.absolute)
        let directory = if let given { given } else { try FeedSelection(invocation).directory }
        let feed = try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
            try FeedDirectory(directory).verify(key, now: FeedCommands.now)
        }
        return try show(feed, invocation)
    }

    private static func key(_ invocation: Invocation) throws(CommandFailure) -> FeedKey {
        if let text = invocation.value("--public-key") {
            if let key = FeedKey(text: text) { return key }
            throw .usage(
                "--public-key is no feed's public key",
                hint: "`reveille feed key` prints it: 43 characters of base64url")
        }
        let given = try invocation.path(FeedCommands.keyFile.name)
        let path = if let given { given } else { try FeedSelection(invocation).keyFile }
        return try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
            FeedKey(try FeedKeyFile.load(path).verifyingKey)
        }
    }

    /// Fetches and verifies batch by batch; wrong bytes and a failing network end differently.
    private static func verify(
        url text: String, _ key: FeedKey
    ) async throws(CommandFailure) -> FeedVerification {
        let console = Console()
        let server = try mapError(failure, try RemoteFeed(text))
        let head = try await fetch("head", limit: FeedLimits.headFileBytes, from: server)
        let keys = try await fetch("keys", limit: FeedLimits.keysBytes, from: server)
        _ = try mapError({ failure("the file keys", $0) }, try KeyChain(keys.span))
        var feed = try mapError({ failure("the head", $0) }) { () throws(FeedError) in
            try FeedVerification(head: head.span, keys: keys, key: key, now: FeedCommands.now)
        }
        for (index, batch) in feed.plan.enumerated() {
            console.progress("verifying batch \(index + 1) of \(feed.plan.count)")
            let limit = FeedLimits.headerBytes + FeedLimits.payloadBytes
            let bytes = try await fetch("b/" + batch.name, limit: limit, from: server)
            try mapError({ failure("batch \(batch.sequence)", $0) }, try feed.verify(bytes))
        }
        console.endProgress()
        return feed
    }

    private static func fetch(
        _ path: String, limit: Int, from server: RemoteFeed
    ) async throws(CommandFailure) -> [UInt8] {
        do throws(FetchError) {
            return try await server.fetch(path, limit: limit)
        } catch {
            throw failure(error)
        }
    }

    private static func failure(_ file: String, _ error: FeedError) -> CommandFailure {
        CommandFailure("\(file) does not verify: \(error.reason)", status: .badData)
    }

    static func failure(_ error: FetchError) -> CommandFailure {
        switch error {
        case .libraryMissing(let library): CommandFailure("\(library)")
        case .invalidURL, .onionWithoutProxy:
            CommandFailure(
                "not an address that may be fetched",
                hint: "https://…, or http://… on this machine", status: .usage)
        case .tooLarge: CommandFailure("an answer is longer than it may be", status: .badData)
        case .protocolViolation:
            CommandFailure("the server answered with something else", status: .badData)
        default:
            CommandFailure("the feed could not be fetched: \(error.reason)", status: .transient)
        }
    }

    /// - Throws: what makes clients warn their users.
    private static func show(
        _ feed: FeedVerification, _ invocation: Invocation
    ) throws(CommandFailure) -> ExitStatus {
        let console = Console()
        if invocation.flag("--json") {
            console.json { text in
                text.member("sequence", number: feed.head.sequence)
                text.member("batches", number: feed.batches)
                text.member("digests", number: feed.digests)
                text.member("bytes", number: feed.bytes)
                text.member("fingerprint", string: FeedFingerprint(feed.head).text)
                text.member("keys", number: feed.cursor.chain.keys.count)
                text.member("key", string: feed.cursor.chain.newest.text)
                text.member("expires", number: feed.head.expires)
                text.member("warnings", strings: feed.warnings.map { failure($0).message })
            }
        } else {
            show(feed, console)
        }
        if let warning = feed.warnings.first { throw failure(warning) }
        return .success
    }

    private static func show(_ feed: FeedVerification, _ console: Console) {
        console.out(
            "the feed verifies: \(feed.batches) batches, \(feed.digests) digests, "
                + "\(feed.bytes) bytes")
        console.out("fingerprint \(FeedFingerprint(feed.head).text)")
        let keys = feed.cursor.chain.keys
        if keys.count > 1 {
            console.out("\(keys.count) keys, the newest is \(feed.cursor.chain.newest.text)")
        }
        if let notice = PauseNotice(until: feed.head.pausedUntil) { console.out(notice.text) }
    }

    private static func failure(_ warning: FeedWarning) -> CommandFailure {
        switch warning {
        case .stale(let time):
            CommandFailure(
                "the head expired on \(DateField.minute(time)), and clients warn their users",
                hint: "`reveille feed refresh`, and see that reveille-feed.timer is enabled; of a "
                    + "copy, fetch the head again")
        case .clockSkew(let time):
            CommandFailure(
                "the head is of \(DateField.minute(time)), which is to come, and clients warn "
                    + "their users",
                hint: "set the clock of this machine, or of the one that signs")
        case .gap(let missing):
            CommandFailure(
                "batches \(missing.lowerBound) to \(missing.upperBound) are not retained any more")
        }
    }
}
