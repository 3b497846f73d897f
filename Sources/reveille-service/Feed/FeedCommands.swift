import Glibc
import WakeCommand
import WakeFeed
import WakeFetch
import WakeModel
import WakePublish
import WakeServer
import WakeSystem

/// `reveille feed …`: the publisher's side of the feed.
enum FeedCommands {
    static let all = [
        initialize, FeedPublishCommand.command, FeedVerifyCommand.command, prune, refresh,
        fingerprint, FeedDirectivesCommand.command, FeedKeyCommands.show,
        FeedKeyCommands.succeed, FeedMonitorCommand.command,
    ]

    /// Which feed: that of the configuration, or one named by hand.
    static let directory = Command.Option(
        "--feed", value: "DIR", "the feed's directory instead of the configured one")
    static let keyFile = Command.Option(
        "--key", value: "FILE", "the feed's key file instead of the configured one")
    static let witnesses = Command.Option(
        "--witnesses", value: "FILE", "the policy of witnesses instead of the configured one")
    static let options = [ConfigurationFile.option, directory, keyFile]
    /// Of commands that sign a head.
    static let publishing = options + [witnesses]

    private static let initialize = Command(
        "feed init", "make a feed with nothing in it, and its key",
        operands: [.init("DIR", "the directory; made when it is missing")],
        options: [
            .init("--key", value: "FILE", "where the key goes (default: feed.key beside DIR)"),
            .init(
                "--origin", value: "NAME",
                "the name of the log of heads, as wake.example.org/feed (default: the feed's "
                    + "identifier); for good"),
        ],
        examples: ["reveille feed init /srv/feed --key /etc/reveille/feed.key"],
        notes: """
            The empty feed's head is the first entry of the log of heads, and no witness is asked to
            cosign it: none knows the log's key, which is made here and printed. Give it to the
            witnesses' operators; the first publish, refresh or directive under a policy of
            witnesses then asks them to cosign the log with both heads in it. Until then clients
            that name witnesses believe nothing of this feed, and others fetch an empty one.
            """,
        run: { (invocation) throws(CommandFailure) in
            let directory = try Environment.absolute(invocation.operands[0])
            let parent = Files.parent(of: directory) ?? "/"
            let keyFile = try invocation.path("--key") ?? parent + "/feed.key"
            try mapError({ CommandFailure(keyFile, $0) }) { () throws(FileError) in
                try Files.makeDirectory(Files.parent(of: keyFile) ?? "/")
            }
            if Files.exists(keyFile) {
                Console().error(
                    "warning: \(keyFile) was there already; two feeds signed with one key are one "
                        + "feed to clients, and a fork: use this one instead of the other")
            }
            let origin = try invocation.value("--origin").map { text throws(CommandFailure) in
                guard let name = NoteKeyName(text) else {
                    throw .usage("--origin takes a name without spaces and plus signs")
                }
                return name
            }
            let key = try make(
                directory: directory, keyFile: keyFile, settings: FeedSettings(), origin: origin)
            Console().out("made \(directory)\nkey file: \(keyFile)\nfeed key: \(key.text)")
            if let log = try FeedKeyCommands.log(in: directory, signedBy: key) {
                Console().out("log key: \(log)")
            }
            Console().out(
                "witnesses: none was asked, as none knows the log key yet; the first publish or "
                    + "refresh with a policy of witnesses asks them")
            return .success
        })

    private static let prune = Command(
        "feed prune", "remove leftovers of crashes and batches the head no longer names",
        options: options, examples: ["reveille feed prune"],
        run: { (invocation) throws(CommandFailure) in
            let feed = try FeedSelection(invocation)
            let count = try mapError(
                CommandFailure.init, try feed.publisher(signing: false).prune(now: now))
            Console().out("removed \(count) files")
            return .success
        })

    private static let refresh = Command(
        "feed refresh", "sign the head again, for freshness and with the configured timing",
        options: publishing + [
            .init("--cover", "also publish a cover batch: decoys alone, like any other batch")
        ],
        examples: ["reveille feed refresh --cover    # every two hours, by a timer"],
        notes: """
            With a cover batch for every heartbeat, sizes and numbers of batches do not reveal
            whether something was published.
            """,
        run: { (invocation) throws(CommandFailure) in
            let feed = try FeedSelection(invocation)
            try GatewayKeyFile.publish(of: feed)
            try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
                try feed.publisher().resign(settings: feed.settings, now: now)
            }
            Console().out("signed again")
            guard invocation.flag("--cover") else { return .success }
            let sequence = try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
                try feed.publisher().publishCover(now: now)
            }
            Console().out("published a cover batch as sequence \(sequence)")
            return .success
        })

    private static let fingerprint = Command(
        "feed fingerprint", "print the fingerprint, which two people can compare",
        options: options + [.json], examples: ["reveille feed fingerprint"],
        run: { (invocation) throws(CommandFailure) in
            let feed = try FeedSelection(invocation)
            let text = try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
                FeedFingerprint(try FeedDirectory(feed.directory).head(feed.publicKey())).text
            }
            if invocation.flag("--json") {
                Console().json { $0.member("fingerprint", string: text) }
            } else {
                Console().out(text)
            }
            return .success
        })

    /// Seconds since 1970.
    static var now: Int64 { Int64(time(nil)) }

    /// Makes an empty feed, whose head no witness is asked to cosign.
    /// - Returns: the public key.
    static func make(
        directory: String, keyFile: String, settings: FeedSettings, origin: NoteKeyName? = nil
    ) throws(CommandFailure) -> FeedKey {
        try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
            try FeedDirectory.initFeed(
                directory, keyFile: keyFile, settings: settings, origin: origin, now: now)
        }
    }
}

extension Configuration {
    /// The head's settings with the configured timing and everything else as it is.
    func feedSettings(over present: FeedSettings = FeedSettings()) -> FeedSettings {
        var settings = present
        settings.pollSeconds = UInt32(pollSeconds)
        settings.spreadSeconds = UInt32(spreadSeconds)
        settings.cacheSeconds = UInt32(cacheSeconds)
        // Without keys here they may be those of a service elsewhere.
        if let keys = try? obliviousKeys(), let hashes = GatewayKeyHashes(keys.hashes) {
            settings.gatewayKeys = hashes
        }
        return settings
    }
}

/// The feed a command works on: its directory, its key, and the configuration it came from.
struct FeedSelection {
    let directory: String
    let keyFile: String
    /// nil when directory and key were both named by hand.
    let configuration: Configuration?
    /// The file of the policy of witnesses; nil: heads are published without any.
    private let policyFile: String?

    init(_ invocation: Invocation) throws(CommandFailure) {
        let directory = try invocation.path(FeedCommands.directory.name)
        let keyFile = try invocation.path(FeedCommands.keyFile.name)
        if let directory, let keyFile, invocation.value(ConfigurationFile.option.name) == nil {
            (self.directory, self.keyFile, configuration) = (directory, keyFile, nil)
            policyFile = try invocation.path(FeedCommands.witnesses.name)
        } else {
            let configuration = try ConfigurationFile.load(invocation)
            self.directory = directory ?? configuration.feed
            self.keyFile = keyFile ?? configuration.feedKey
            self.configuration = configuration
            policyFile =
                try invocation.path(FeedCommands.witnesses.name) ?? configuration.witnesses
        }
    }

    /// - Parameter signing: whether a head will be signed, which the witnesses have to cosign.
    func publisher(signing: Bool = true) throws(FeedDirectoryError) -> FeedPublisher {
        FeedPublisher(
            directory: directory, key: try FeedKeyFile.load(keyFile),
            witnesses: signing ? try witnesses() : nil)
    }

    /// The asker of the policy's witnesses; nil without a policy.
    /// - Throws: for a policy that no publish could meet, before anything is signed.
    func witnesses() throws(FeedDirectoryError) -> WitnessCollector? {
        guard let policyFile else { return nil }
        func refusal(_ reason: String) -> FeedDirectoryError {
            .witnesses(WitnessRefusal(.policy, reasons: [reason]))
        }
        let policy = try mapError({ refusal("\(policyFile): \($0.message)") }) {
            () throws(WitnessFile.Fault) in try WitnessFile.read(policyFile)
        }
        let fetcher = try mapError({ refusal("\($0)") }) { () throws(FetchError) in
            try Fetcher(FetchConfiguration())
        }
        return { submission throws(FeedDirectoryError) in
            let collector = WitnessSubmission.collector(policy, fetcher) { witness, outcome in
                switch outcome {
                case .cosigned: Console().progress("cosigned by \(witness)")
                case .clockDiffers(let ahead):
                    Console().endProgress()
                    Console().error(
                        "warning: witness \(witness) cosigned with a clock that is \(abs(ahead)) s "
                            + (ahead > 0 ? "ahead of" : "behind")
                            + " this one: one of the two is wrong, and clients may warn of it")
                case .failed(let reason), .otherHistory(let reason):
                    Console().endProgress()
                    Console().error("witness \(witness): \(reason)")
                }
            }
            defer { Console().endProgress() }
            return try collector(submission)
        }
    }

    func publicKey() throws(FeedDirectoryError) -> FeedKey {
        FeedKey(try FeedKeyFile.load(keyFile).verifyingKey)
    }

    /// The settings of a head that would be signed now, where nothing is to change.
    func presentSettings() throws(FeedDirectoryError) -> FeedSettings {
        try presentHead().settings(now: FeedCommands.now)
    }

    func presentHead() throws(FeedDirectoryError) -> FeedHead {
        try FeedDirectory(directory).head(publicKey())
    }

    /// The configured timing; nil leaves the head's as it is.
    var settings: FeedSettings? {
        guard let configuration else { return nil }
        var settings = configuration.feedSettings(over: (try? presentSettings()) ?? FeedSettings())
        // A running service knows how many fetches its broadcasts bring.
        let numbers: [String: Int]? = answer(of: "/v1/status")
        if let spread = numbers?["publish_spread_seconds"] {
            settings.spreadSeconds = UInt32(clamping: spread)
        }
        return settings
    }

    /// What the running service says there; nil when there is none that answers.
    func answer<Value: Decodable>(of path: String) -> Value? {
        guard let configuration,
            let answer = try? AdminClient(configuration).send("GET", path)
        else { return nil }
        return AdminJSON.decode(answer.body)
    }
}

extension CommandFailure {
    /// A failure of the publisher's side of the feed.
    init(_ error: FeedDirectoryError) {
        let status: ExitStatus =
            switch error {
            case .head, .keys, .batch, .missingBatch, .journal, .nothingToPublish, .noteTooLong:
                .badData
            case .log: .badData
            case .witnesses(let refusal):
                switch refusal.kind {
                case .noQuorum: .transient
                case .otherHistory: .badData
                case .policy: .configuration
                }
            case .locked: .transient
            case .keyFile(.file): .failure
            case .keyFile, .keyFileMalformed: .configuration
            default: .failure
            }
        self.init(lines: error.message, status: status)
    }
}
