import Glibc
import WakeCommand
import WakeFeed
import WakeModel
import WakeServer
import WakeSodium
import WakeStore
import WakeSystem

/// `reveille check`: the configuration in force, and faults that prevent a start.
enum CheckCommand {
    static let command = Command(
        "check", "explain the configuration in force, without secrets",
        options: [ConfigurationFile.option, .json],
        examples: ["reveille check --config /etc/reveille/reveille.conf"],
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        let configuration = try ConfigurationFile.load(invocation)
        try refuseForeign(configuration.data)
        var table = CheckTable()
        let file = try ConfigurationFile.locate(invocation)
        table.row("configuration", file, fault: fault(configurationFile: file))
        table.addListeners(configuration)
        table.row("store", configuration.data, fault: fault(privateDirectory: configuration.data))
        table.row("store keys", keys(configuration), fault: fault(keys: configuration))
        table.row("rotation", rotation(configuration))
        table.row("store limit", storeLimit(configuration), warning: room(configuration))
        table.row("new rows", configuration.freeRegistrationsSummary)
        table.addFeed(configuration, now: FeedCommands.now)
        table.row(
            "feed timing",
            "poll \(configuration.pollSeconds) s, spread \(configuration.spreadSeconds) s, "
                + "cache \(configuration.cacheSeconds) s")
        table.row(
            "watch",
            configuration.watch ? configuration.watchedFeed ?? "the feed's directory" : "off",
            fault: configuration.watchProblem?.message)
        table.row("broadcasts", broadcasts(configuration))
        let gatewayFaults = Gateways.faults(configuration)
        for state in Gateways.states(configuration) {
            let fault = gatewayFaults.first { $0.service == state.service }?.error
            let name = "\(state.service.name)"
            if let fault, fault.isOptional {
                table.row(
                    name, "off: \(CheckTable.line(fault.message)); its push tokens are refused")
            } else {
                let section = configuration.sections[name]
                let key = fault == nil ? nil : section?["key"] ?? section?["via-key"]
                table.row(
                    name, state.summary + (key.map { ", key \($0)" } ?? ""), fault: fault?.message,
                    warning: keyWarning(section))
            }
        }
        let relay = configuration.relaySummary
        table.row(
            "relay", relay.line, fault: relay.problem,
            warning: relay.line.hasSuffix("for no push service")
                ? "nothing is passed on: no section of a push service with a key is on" : nil)
        table.addOblivious(configuration)
        table.row("log", configuration.logLevel.rawValue)
        table.row("policy", PrivacyPolicy.hash)
        table.show(json: invocation.flag("--json"))
        return table.faults == 0 ? .success : .configuration
    }

    /// As root every file of the service's user would look wrong.
    private static func refuseForeign(_ path: String) throws(CommandFailure) {
        guard geteuid() == 0, let owner = try? FileStatus(of: path).owner, owner != 0 else {
            return
        }
        throw CommandFailure(
            "\(path) is of another user: as root nothing can be said of its files",
            hint: "sudo -u '#\(owner)' reveille check", status: .configuration)
    }

    private static func fault(configurationFile path: String) -> String? {
        guard let status = try? FileStatus(of: path), !status.isLink else { return nil }
        let others: mode_t = status.group == getegid() ? 0o002 : 0o022
        return status.mode & others == 0 ? nil : "others can change it: `chmod go-w \(path)`"
    }

    /// A key of Apple's carries its id in its name; another id is a mistake of copying.
    private static func keyWarning(_ section: [String: String]?) -> String? {
        guard let path = section?["key"], let id = section?["key-id"],
            let name = path.split(separator: "/").last, name.hasPrefix("AuthKey_"),
            name.hasSuffix(".p8"), name.dropFirst(8).dropLast(3) != id
        else { return nil }
        return "key-id is \(id), and the file is called \(name)"
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

    private static func fault(privateDirectory path: String) -> String? {
        guard let status = try? FileStatus(of: path) else { return "missing: `reveille init`" }
        guard status.isDirectory else { return "not a directory" }
        guard status.isPrivate else {
            return "must be this user's own with mode 0700: `chmod 700 \(path)`"
        }
        return fault(above: path)
    }

    /// A directory in which others could put another file or directory in place of a private one.
    static func fault(above path: String) -> String? {
        let open = (try? Files.openParent(of: path)) ?? nil
        return open.map { "other users can replace it: `chmod go-w \($0)`" }
    }

    private static func fault(keys configuration: Configuration) -> String? {
        if configuration.keysInMemory { return nil }
        if let fault = fault(privateFile: configuration.keys) { return fault }
        let directory = Files.parent(of: configuration.keys) ?? "."
        guard let status = try? FileStatus(of: directory) else { return nil }
        let isOurs = geteuid() == 0 || (status.owner == geteuid() && status.mode & 0o300 == 0o300)
        return isOurs ? nil : "its directory must be this user's own: a rotation replaces the file"
    }

    private static func fault(privateFile path: String) -> String? {
        guard let status = try? FileStatus(of: path) else {
            return "missing: bring it back, or begin with an empty store from `reveille init`"
        }
        guard status.isRegular else { return "not a plain file" }
        return status.isPrivate
            ? fault(above: path)
            : "must be this user's own with mode 0600: `chmod 600 \(path)`"
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
        let used = (try? FileStatus(of: configuration.data + "/registrations.db").size) ?? 0
        let most = (free + used) >> 20
        guard most < configuration.storeMegabytes else { return nil }
        return "the disk has room for \(most) MiB: it is full before this limit is reached"
    }
}
