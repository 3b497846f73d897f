import WakeCommand
import WakeFeed
import WakePublish
import WakeSystem

/// `reveille feed key` and `reveille feed succeed`: the keys of a feed, one after the other.
enum FeedKeyCommands {
    static let show = Command(
        "feed key", "print the feed's public key, and the keys before it",
        options: FeedCommands.options, examples: ["reveille feed key"],
        run: { (invocation) throws(CommandFailure) in
            let feed = try FeedSelection(invocation)
            Console().out(text(try chain(of: feed)))
            let key = try mapError(CommandFailure.init, try feed.publicKey())
            if let log = try log(in: feed.directory, signedBy: key) {
                Console().out("log key: \(log)")
            }
            return .success
        })

    /// The verifier key of the log of heads, as witnesses and policies name it; nil without a log.
    static func log(in directory: String, signedBy key: FeedKey) throws(CommandFailure) -> String? {
        try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
            try FeedDirectory(directory).checkpoint()
                .flatMap { NoteKeyName($0.checkpoint.origin) }
                .map { NoteKey(name: $0, feedKey: key).text }
        }
    }

    static let succeed = Command(
        "feed succeed", "give the feed a new key; the present one then signs nothing more",
        options: FeedCommands.publishing + [
            .init(
                "--new-key", value: "FILE",
                "where the new key is, or goes, and stays; else it takes the old key's place"),
            Confirmation.option,
        ],
        examples: [
            "reveille feed succeed", "reveille feed succeed --feed ./feed --key ./feed.key --yes",
        ],
        notes: """
            Clients with any of the feed's keys find the newest one by the file keys, whenever they
            come. Repeat the command when it was cut short. Where feed and key are on a machine of
            their own, run it there, then copy the feed: the file keys before the head. Witnesses
            keep the log of heads under its name, and learn the new key from their operators:
            `reveille feed key` prints it.
            """,
        run: { (invocation) throws(CommandFailure) in
            let feed = try FeedSelection(invocation)
            let old = try mapError(CommandFailure.init, try feed.publicKey())
            try Confirmation.require(
                invocation,
                "the key \(old.text) signs nothing more after this, and cannot be taken back")
            let newKey = try invocation.path("--new-key")
            let outcome = try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
                try FeedSuccession(
                    directory: feed.directory, keyFile: feed.keyFile, newKeyFile: newKey,
                    witnesses: feed.witnesses()
                ).run(now: FeedCommands.now)
            }
            report(outcome, newKey: newKey)
            Console().out(text(try chain(of: feed)))
            return .success
        })

    private static func report(_ outcome: FeedSuccession.Outcome, newKey: String?) {
        guard outcome == .succeeded else {
            return Console().out("done before: the newest key has signed no batch yet")
        }
        Console().out("the feed has a new key: give it to new clients, the others find it")
        if let newKey {
            Console().out("next: set key = \(newKey) in [feed], then destroy the old key's file")
        }
    }

    private static func chain(of feed: FeedSelection) throws(CommandFailure) -> KeyChain {
        try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
            try FeedDirectory(feed.directory).keys(feed.publicKey())
        }
    }

    private static func text(_ chain: KeyChain) -> String {
        let before = chain.keys.dropLast().reversed().map { "\nbefore: \($0.text)" }.joined()
        return "feed key: \(chain.newest.text)\nfeed id: \(chain.feedID.text)" + before
    }
}
