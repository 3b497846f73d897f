import Glibc
import WakeCommand
import WakeFeed
import WakeFiles
import WakeServer

/// `reveille feed …`: the publisher's side of the feed.
enum FeedCommands {
    static let all = [
        initialize, FeedPublishCommand.command, FeedVerifyCommand.command, prune, refresh,
        fingerprint, FeedOrdersCommand.command,
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
            let feed = try FeedInHand(invocation)
            let count = try FeedInHand.wrap { () throws(FeedDirectoryError) in
                try feed.publisher().prune(now: now)
            }
            Console().out("removed \(count) files")
            return .success
        })

    private static let refresh = Command(
        "feed refresh", "sign the head again, for freshness and with the configured timing",
        options: options, examples: ["reveille feed refresh    # daily, by a timer"],
        run: { (invocation) throws(CommandFailure) in
            let feed = try FeedInHand(invocation)
            try FeedInHand.wrap { () throws(FeedDirectoryError) in
                try feed.publisher().resign(settings: feed.settings, now: now)
            }
            Console().out("signed anew")
            return .success
        })

    private static let fingerprint = Command(
        "feed fingerprint", "print what two people compare to know they see one feed",
        options: options, examples: ["reveille feed fingerprint"],
        run: { (invocation) throws(CommandFailure) in
            let feed = try FeedInHand(invocation)
            let text = try FeedInHand.wrap { () throws(FeedDirectoryError) in
                try FeedDirectory(feed.directory).fingerprint([feed.publicKey()]).text
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
        try FeedInHand.wrap { () throws(FeedDirectoryError) in
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
