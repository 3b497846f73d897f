import Glibc
import WakeCommand
import WakeFeed
import WakeServer
import WakeSodium
import WakeSystem

/// `reveille feed …`: the publisher's side of the feed.
enum FeedCommands {
    static let all = [
        initialize, FeedPublishCommand.command, FeedVerifyCommand.command, prune, refresh,
        fingerprint, FeedDirectivesCommand.command,
    ]

    /// Which feed: that of the configuration, or one named by hand.
    static let directory = Command.Option(
        "--feed", value: "DIR", "the feed's directory instead of the configured one")
    static let keyFile = Command.Option(
        "--key", value: "FILE", "the feed's key file instead of the configured one")
    static let options = [ConfigurationFile.option, directory, keyFile]

    private static let initialize = Command(
        "feed init", "make a feed with nothing in it, and its key",
        operands: [.init("DIR", "the directory; made when it is missing")],
        options: [
            .init("--key", value: "FILE", "where the key goes (default: feed.key beside DIR)")
        ],
        examples: ["reveille feed init /srv/feed --key /etc/reveille/feed.key"],
        run: { (invocation) throws(CommandFailure) in
            let directory = AbsolutePath.of(invocation.operands[0])
            let parent = Files.parent(of: directory) ?? "/"
            let keyFile = invocation.value("--key").map(AbsolutePath.of) ?? parent + "/feed.key"
            do throws(FileError) {
                try Files.makeDirectory(Files.parent(of: keyFile) ?? "/")
            } catch {
                throw CommandFailure("\(keyFile): \(error.reason)")
            }
            if Files.exists(keyFile) {
                Console().error(
                    "warning: \(keyFile) was there already; two feeds signed with one key are one "
                        + "feed to clients, and a fork: use this one instead of the other")
            }
            let key = try make(directory: directory, keyFile: keyFile, settings: FeedSettings())
            Console().out("made \(directory)\nkey file: \(keyFile)\nfeed key: \(key)")
            return .success
        })

    private static let prune = Command(
        "feed prune", "remove leftovers of crashes and batches the head no longer names",
        options: options, examples: ["reveille feed prune"],
        run: { (invocation) throws(CommandFailure) in
            let feed = try FeedSelection(invocation)
            let count = try FeedSelection.wrap { () throws(FeedDirectoryError) in
                try feed.publisher().prune(now: now)
            }
            Console().out("removed \(count) files")
            return .success
        })

    private static let refresh = Command(
        "feed refresh", "sign the head again, for freshness and with the configured timing",
        options: options + [
            .init("--cover", "also publish a cover batch: decoys alone, like any other batch")
        ],
        examples: ["reveille feed refresh --cover    # every two hours, by a timer"],
        notes: """
            With a cover batch for every heartbeat, sizes and numbers of batches do not reveal
            whether something was published.
            """,
        run: { (invocation) throws(CommandFailure) in
            let feed = try FeedSelection(invocation)
            try FeedSelection.wrap { () throws(FeedDirectoryError) in
                try feed.publisher().resign(settings: feed.settings, now: now)
            }
            Console().out("signed again")
            guard invocation.flag("--cover") else { return .success }
            let sequence = try FeedSelection.wrap { () throws(FeedDirectoryError) in
                try feed.publisher().publishCover(now: now)
            }
            Console().out("published a cover batch as sequence \(sequence)")
            return .success
        })

    private static let fingerprint = Command(
        "feed fingerprint", "print what two people compare to know they see one feed",
        options: options, examples: ["reveille feed fingerprint"],
        run: { (invocation) throws(CommandFailure) in
            let feed = try FeedSelection(invocation)
            let text = try FeedSelection.wrap { () throws(FeedDirectoryError) in
                FeedFingerprint(try FeedDirectory(feed.directory).head([feed.publicKey()])).text
            }
            Console().out(text)
            return .success
        })

    /// Seconds since 1970.
    static var now: Int64 { Int64(time(nil)) }

    /// Makes an empty feed with the configured timing.
    /// - Returns: the public key as text.
    static func initialize(
        directory: String, keyFile: String, configuration: Configuration
    ) throws(CommandFailure) -> String {
        try make(directory: directory, keyFile: keyFile, settings: configuration.feedSettings())
    }

    private static func make(
        directory: String, keyFile: String, settings: FeedSettings
    ) throws(CommandFailure) -> String {
        try FeedSelection.wrap { () throws(FeedDirectoryError) in
            try FeedDirectory.initFeed(directory, keyFile: keyFile, settings: settings, now: now)
                .text
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
        return settings
    }
}

/// The feed a command works on: its directory, its key, and the configuration it came from.
struct FeedSelection {
    let directory: String
    let keyFile: String
    /// nil when directory and key were both named by hand.
    let configuration: Configuration?

    init(_ invocation: Invocation) throws(CommandFailure) {
        let directory = invocation.value(FeedCommands.directory.name).map(AbsolutePath.of)
        let keyFile = invocation.value(FeedCommands.keyFile.name).map(AbsolutePath.of)
        if let directory, let keyFile {
            self.directory = directory
            self.keyFile = keyFile
            configuration =
                invocation.value(ConfigurationFile.option.name) == nil
                ? nil : try ConfigurationFile.load(invocation)
        } else {
            let configuration = try ConfigurationFile.load(invocation)
            self.directory = directory ?? configuration.feed
            self.keyFile = keyFile ?? configuration.feedKey
            self.configuration = configuration
        }
    }

    func publisher() throws(FeedDirectoryError) -> FeedPublisher {
        FeedPublisher(directory: directory, key: try FeedKeyFile.load(keyFile))
    }

    func publicKey() throws(FeedDirectoryError) -> FeedKey {
        FeedKey(try FeedKeyFile.load(keyFile).verifyingKey)
    }

    /// The configured timing; nil leaves the head's as it is.
    var settings: FeedSettings? {
        guard let configuration else { return nil }
        let present = try? FeedDirectory(directory).head([publicKey()]).settings
        var settings = configuration.feedSettings(over: present ?? FeedSettings())
        // A running service knows how many fetches its broadcasts bring; without one the
        // configuration stands.
        if let answer = try? AdminClient(address: configuration.admin).send("GET", "/v1/status"),
            let spread = try? ServiceNumbers(answer.body)["publish_spread_seconds"]
        {
            settings.spreadSeconds = UInt32(clamping: spread)
        }
        return settings
    }

    /// Words a publisher's failure for the command line.
    static func wrap<Result>(
        _ body: () throws(FeedDirectoryError) -> Result
    ) throws(CommandFailure) -> Result {
        do throws(FeedDirectoryError) {
            return try body()
        } catch {
            throw CommandFailure(error.message, status: status(of: error))
        }
    }

    private static func status(of error: FeedDirectoryError) -> ExitStatus {
        switch error {
        case .head, .batch, .missingBatch, .journal, .nothingToPublish, .noteTooLong: .badData
        case .locked: .transient
        case .keyFileNotPrivate, .keyFileMalformed: .configuration
        default: .failure
        }
    }
}
