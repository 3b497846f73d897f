import WakeCommand
import WakeFeed
import WakeFiles
import WakeServer
import WakeStore

/// `reveille init DIR`: everything a first service needs, in one directory.
enum InitCommand {
    static let command = Command(
        "init", "make a directory with configuration, keys, an empty store and an empty feed",
        operands: [.init("DIR", "the directory; made when it is missing")],
        examples: ["reveille init /var/lib/reveille", "reveille init ./reveille"],
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        let directory = AbsolutePath.of(invocation.operands[0])
        let path = directory + "/reveille.conf"
        guard !Files.exists(path) else {
            throw CommandFailure("\(path) exists; nothing is overwritten")
        }
        let configuration = Configuration(directory: directory)
        try make(directory)
        try make(Files.parent(of: configuration.keys) ?? directory)
        do {
            try Store.create(configuration.store)
        } catch {
            throw CommandFailure(error.message(configuration.store))
        }
        let key = try FeedCommands.initialize(
            directory: configuration.feed, keyFile: configuration.feedKey,
            configuration: configuration)
        do {
            // Last: a file that is there says that all the rest is.
            try Files.create(path, with: Array(Configuration.template.utf8).span, mode: 0o640)
        } catch {
            throw CommandFailure("\(path): \(error.reason)")
        }
        Console().out(
            """
            made \(directory)
            feed key: \(key)
            next: reveille serve --config \(path)
            """)
        return .success
    }

    private static func make(_ directory: String) throws(CommandFailure) {
        do {
            try Files.makeDirectory(directory)
        } catch {
            throw CommandFailure("\(directory): \(error.reason)")
        }
    }
}
