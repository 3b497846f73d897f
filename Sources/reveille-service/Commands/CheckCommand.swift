import Glibc
import WakeCommand
import WakeFeed
import WakeModel
import WakeServer
import WakeStore
import WakeSystem

/// `reveille check`: the configuration in force, and faults that prevent a start.
enum CheckCommand {
    static let command = Command(
        "check", "explain the configuration in force, without secrets, and what prevents a start",
        options: [ConfigurationFile.option, .json],
        examples: ["reveille check --config /etc/reveille/reveille.conf"],
        notes: """
            check opens what serve opens, in the same way, and nothing is changed. A problem \
            prevents a start, and the exit status is that with which serve would end; a warning \
            prevents none.
            """,
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        let configuration = try ConfigurationFile.load(invocation)
        let file = try ConfigurationFile.locate(invocation)
        try refuseForeign(configuration.data)
        // A start takes the access of groups away before it looks.
        let table = Files.$overlooksGroup.withValue(true) { examine(configuration, file) }
        table.show(json: invocation.flag("--json"))
        return table.status
    }

    private static func examine(_ configuration: Configuration, _ file: String) -> CheckTable {
        let (obstacles, isRunning) = Service.examine(configuration)
        var table = CheckTable(
            obstacles.map { ($0.part, ServeCommand.failure($0.error, configuration)) })
        if let fault = ServeCommand.fault(ofPlaces: configuration, file) {
            table.addFirst("configuration", fault)
        }
        table.row("configuration", file)
        table.addListeners(configuration)
        table.row(
            "store", configuration.data + (isRunning ? ", open in a running service" : ""),
            warning: groups(configuration))
        table.row("store keys", keys(configuration), warning: keyDirectory(configuration))
        table.row("rotation", rotation(configuration))
        table.row("store limit", storeLimit(configuration), warning: room(configuration))
        table.row("new rows", configuration.freeRegistrationsSummary)
        table.addFeed(configuration, now: FeedCommands.now)
        table.row(
            "feed timing",
            "poll \(configuration.pollSeconds) s, spread \(configuration.spreadSeconds) s, "
                + "cache \(configuration.cacheSeconds) s")
        let watchesElsewhere = configuration.watchedFeed != nil
        table.row(
            "watch",
            configuration.watch ? configuration.watchedFeed ?? "the feed's directory" : "off",
            warning: configuration.watchKey.isEmpty || watchesElsewhere
                ? nil : "watch-key is of no use without the address of a feed in watch")
        let isPushing = table.addGateways(configuration)
        table.row(
            "broadcasts", broadcasts(configuration),
            warning: isPushing
                ? nil : "no push service is on: event streams alone are woken, nothing is pushed")
        let relay = configuration.relaySummary
        table.row(
            "relay", relay.line,
            warning: relay.problem
                ?? (relay.line.hasSuffix("for no push service")
                    ? "nothing is passed on: no section of a push service with a key is on" : nil))
        table.addOblivious(configuration)
        table.row("page", page(configuration))
        table.row("log", configuration.logLevel.rawValue)
        table.row("policy", PrivacyPolicy.hash)
        return table
    }

    /// As root every file of the service's user would look wrong.
    private static func refuseForeign(_ path: String) throws(CommandFailure) {
        guard geteuid() == 0, let owner = try? FileStatus(of: path).owner, owner != 0 else {
            return
        }
        throw CommandFailure(
            "\(path) belongs to another user; run check as that user",
            hint: "sudo -u '#\(owner)' reveille check", status: .configuration)
    }

    private static func broadcasts(_ configuration: Configuration) -> String {
        let heartbeat = configuration.heartbeat ? "every" : "no heartbeat, over within"
        let fetches = configuration.fetchesPerSecond
        return "\(heartbeat) \(configuration.intervalSeconds) s, "
            + (fetches > 0 ? "for \(fetches) fetches a second" : "as fast as pushes can go")
    }

    /// At the cap a broadcast may take longer than its interval, also to those who are no rubbish.
    private static func storeLimit(_ configuration: Configuration) -> String {
        let limit =
            "\(configuration.storeMegabytes) MiB, new registrations up to "
            + "\(configuration.storeRows)"
        guard configuration.fetchesPerSecond > 0 else { return limit }
        let seconds = configuration.storeRows / configuration.fetchesPerSecond
        let isLate = seconds > configuration.intervalSeconds
        return limit + ": waking them takes \(seconds) s"
            + (isLate ? ", longer than the interval" : "")
    }

    private static func page(_ configuration: Configuration) -> String {
        func text(_ text: String) -> String { text.isEmpty ? "not said" : text }
        return "operator \(text(configuration.pageOperator)), "
            + "contact \(text(configuration.pageContact))"
    }

    /// What a start puts right.
    private static func groups(_ configuration: Configuration) -> String? {
        let count = configuration.privatePaths.count { path in
            (try? FileStatus(of: path).isOpenToGroup) ?? false
        }
        return count == 0
            ? nil
            : "\(count) private files and directories are writable for a group, as orchestrators "
                + "make them; a start takes that away"
    }

    private static func keyDirectory(_ configuration: Configuration) -> String? {
        guard !configuration.keysInMemory, geteuid() != 0,
            let file = try? Files.resolve(configuration.keys),
            let status = try? FileStatus(of: Files.parent(of: file) ?? ".")
        else { return nil }
        return status.owner == geteuid() && status.mode & 0o300 == 0o300
            ? nil
            : "rotations will fail: they replace the file, so its directory must be this user's"
    }

    private static func keys(_ configuration: Configuration) -> String {
        _ = KeyMemory.random()
        let swap = KeyMemory.isSwappable ? "; may be swapped out: raise ulimit -l" : ""
        guard configuration.keysInMemory else { return configuration.keys + swap }
        return "in memory: every start begins with an empty store; "
            + "clients come back within 2 days and 8 hours" + swap
    }

    private static func rotation(_ configuration: Configuration) -> String {
        let days = configuration.rotationDays
        return "every \(days) days of running time: what is not renewed expires after \(days) to "
            + "\(2 * days) days"
    }

    /// A remark when the disk is full before the limit is reached.
    private static func room(_ configuration: Configuration) -> String? {
        guard let free = try? Files.freeBytes(at: configuration.data) else { return nil }
        let used = configuration.store.fileBytes
        let most = (free + used) >> 20
        guard most < configuration.storeMegabytes else { return nil }
        return "the disk has room for \(most) MiB: it is full before this limit is reached"
    }
}
