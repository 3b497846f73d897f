import WakeCommand
import WakeFeed
import WakeServer
import WakeStore
import WakeSystem

/// `reveille init DIR`: everything a first service needs, in one directory.
enum InitCommand {
    static let command = Command(
        "init", "make a directory with configuration, keys, an empty store and an empty feed",
        operands: [.init("DIR", "the directory; made when it is missing")],
        options: [
            .init(
                "--listen", value: "ADDRESS",
                "HOST:PORT or unix:PATH for clients, behind a front (default: 127.0.0.1:8080)")
        ],
        examples: [
            "reveille init /var/lib/reveille --listen unix:/run/reveille/http.sock",
            "reveille init ./reveille",
        ],
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        let directory = try Environment.absolute(invocation.operands[0])
        let path = directory + "/reveille.conf"
        guard !Files.exists(path) else {
            throw CommandFailure("\(path) exists; nothing is overwritten")
        }
        let listen = invocation.value("--listen") ?? usualListen
        guard ConfigurationParser.address(listen, directory) != nil else {
            throw .usage("--listen takes HOST:PORT or unix:PATH, not \(listen)")
        }
        let configuration = Configuration(directory: directory)
        try make(directory)
        if let fault = ConfigurationFile.fault(above: directory, isIncluded: true) { throw fault }
        let unfinished = directory + "/init-unfinished"
        try begin(unfinished, configuration, vapidKey: directory + vapidKey)
        try make(Files.parent(of: configuration.keys) ?? directory)
        try mapError({ CommandFailure($0.message(configuration.store)) }) {
            () throws(StoreOpenError) in try Store.create(configuration.store)
        }
        let key = try FeedCommands.make(
            directory: configuration.feed, keyFile: configuration.feedKey,
            settings: configuration.feedSettings())
        let publicKey = try makeVAPIDKey(directory)
        let text = Configuration.template(hasVAPIDKey: publicKey != nil).replacing(
            "\nlisten = \(usualListen)\n", with: "\nlisten = \(listen)\n", maxReplacements: 1)
        try mapError({ CommandFailure(path, $0) }) { () throws(FileError) in
            // Last: a file that is there says that all the rest is.
            try Files.replace(path, with: Array(text.utf8).span, mode: 0o640)
            try Files.remove(unfinished)
        }
        Console().out(
            """
            made \(directory)
            feed key: \(key.text)
            \(publicKey.map { "web push key: \($0)" } ?? "web push: off")
            next: reveille serve --config \(path)
            """)
        return .success
    }

    private static let vapidKey = "/keys/vapid.key"
    private static let usualListen = "127.0.0.1:8080"

    /// Refuses to touch what is there, unless an `init` that was cut short has left it: then it is
    /// removed, as nothing of it was ever in use.
    private static func begin(
        _ unfinished: String, _ configuration: Configuration, vapidKey: String
    ) throws(CommandFailure) {
        let (store, head) = (configuration.store, configuration.feed + "/head")
        let others = [head, configuration.feedKey, vapidKey]
        guard Files.exists(unfinished) else {
            let first = store.file(of: 1)
            for file in [first, configuration.keys] + others where Files.exists(file) {
                throw CommandFailure("\(file) exists; nothing is overwritten: choose another place")
            }
            let nothing: [UInt8] = []
            return try mapError(
                { CommandFailure(unfinished, $0) }, try Files.create(unfinished, with: nothing.span)
            )
        }
        Console().error("removing what an init that was cut short has left")
        try mapError({ CommandFailure($0.message(store)) }) {
            () throws(StoreOpenError) in try Store.removeUnused(store)
        }
        for file in others {
            try mapError({ CommandFailure(file, $0) }, try Files.remove(file))
        }
    }

    /// - Returns: the public key; nil on a machine that cannot make one, which is said.
    private static func makeVAPIDKey(_ directory: String) throws(CommandFailure) -> String? {
        let path = directory + vapidKey
        do throws(SetupError) {
            return try GatewayKey.vapid.create(path)
        } catch {
            guard error.isOptional else { throw CommandFailure("\(path): \(error.message)") }
            Console().error("warning: no key for Web Push, which is left off: \(error.message)")
            return nil
        }
    }

    private static func make(_ directory: String) throws(CommandFailure) {
        try mapError({ CommandFailure(directory, $0) }, try Files.makeDirectory(directory))
    }
}
