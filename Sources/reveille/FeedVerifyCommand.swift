import WakeCommand
import WakeFeed
import WakeFiles
import WakeSodium

/// `reveille feed verify`: the whole feed as a new client sees it, from a directory or a URL.
enum FeedVerifyCommand {
    static let command = Command(
        "feed verify", "check a whole feed as a new client would",
        operands: [
            .init("DIR|URL", "a directory, or the feed's address (default: configured)", .optional)
        ],
        options: FeedCommands.options + [
            .init("--public-key", value: "KEY", "the feed's key in base64url, instead of a file")
        ],
        examples: [
            "reveille feed verify",
            "reveille feed verify https://wake.example.org/feed/ --public-key KEY",
        ],
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        let place = invocation.operands.first
        let key = try key(invocation)
        if let place, place.hasPrefix("https://") || place.hasPrefix("http://") {
            try await verify(url: place, key)
            return .success
        }
        let directory: String
        if let place {
            directory = AbsolutePath.of(place)
        } else {
            directory = try FeedInHand(invocation).directory
        }
        let report = try FeedInHand.wrap { () throws(FeedDirectoryError) in
            try FeedDirectory(directory).verify([key], now: FeedCommands.now)
        }
        show(
            report.head, report.warnings, batches: report.batches, digests: report.digests,
            bytes: report.bytes)
        return .success
    }

    private static func key(_ invocation: Invocation) throws(CommandFailure) -> FeedKey {
        if let text = invocation.value("--public-key") {
            guard let key = FeedKey(text: text) else {
                throw CommandFailure(
                    "--public-key takes 43 characters of base64url", status: .usage)
            }
            return key
        }
        let path: String
        if let file = invocation.value(FeedCommands.keyFile.name) {
            path = AbsolutePath.of(file)
        } else {
            path = try FeedInHand(invocation).keyFile
        }
        return try FeedInHand.wrap { () throws(FeedDirectoryError) in
            FeedKey(try FeedKeyFile.load(path).verifyingKey)
        }
    }

    /// Fetches and checks piece by piece; wrong bytes and a failing network end differently.
    private static func verify(url text: String, _ key: FeedKey) async throws(CommandFailure) {
        let site = try FeedSource(text)
        let console = Console()
        let headBytes = try await site.fetch("head", limit: FeedLimits.headBytes)
        let head = try check("the head") { () throws(FeedError) in
            try HeadVerifier(cursor: FeedCursor(key: key))
                .verify(headBytes.span, now: FeedCommands.now)
        }
        var cursor = head.cursor
        var digests = 0
        var total = 0
        for (index, batch) in head.plan.enumerated() {
            console.progress("verifying batch \(index + 1) of \(head.plan.count)")
            let bytes = try await site.fetch(
                "b/" + batch.name, limit: FeedLimits.headerBytes + FeedLimits.payloadBytes)
            let committed = try check("batch \(batch.sequence)") { () throws(FeedError) in
                var reader = BatchReader(cursor: cursor, head: head, secrets: [])
                try reader.feed(bytes.span)
                return try reader.finish()
            }
            cursor = committed.cursor
            digests += committed.header.count
            total += bytes.count
        }
        console.endProgress()
        show(
            head.head, head.warnings, batches: head.plan.count, digests: digests, bytes: total)
    }

    private static func check<Value>(
        _ what: String, _ body: () throws(FeedError) -> Value
    ) throws(CommandFailure) -> Value {
        do throws(FeedError) {
            return try body()
        } catch {
            throw CommandFailure("\(what) does not verify: \(error)", status: .badData)
        }
    }

    private static func show(
        _ head: FeedHead, _ warnings: [FeedWarning], batches: Int, digests: Int, bytes: Int
    ) {
        let console = Console()
        console.out("the feed verifies: \(batches) batches, \(digests) digests, \(bytes) bytes")
        console.out("fingerprint \(FeedFingerprint(head).text)")
        for warning in warnings { console.out("warning: \(warning)") }
    }
}
