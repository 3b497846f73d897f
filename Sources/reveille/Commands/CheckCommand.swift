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
        "check", "explain the configuration in force, without secrets",
        options: [ConfigurationFile.option],
        examples: ["reveille check --config /etc/reveille/reveille.conf"],
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        let configuration = try ConfigurationFile.load(invocation)
        let console = Console()
        var faults = 0
        func row(_ name: String, _ value: String, fault: String? = nil) {
            let padding = String(repeating: " ", count: max(1, 16 - name.count))
            console.out(name + padding + value)
            if let fault {
                faults += 1
                console.out("                problem: \(fault)")
            }
        }
        row("http", text(configuration.listen) + (configuration.proxyProtocol ? ", PROXY v2" : ""))
        row("admin", text(configuration.admin))
        row("store", configuration.data, fault: fault(privateDirectory: configuration.data))
        row("store keys", keys(configuration), fault: fault(keys: configuration))
        row("rotation", rotation(configuration))
        row(
            "store limit", "\(configuration.storeMegabytes) MiB, new registrations up to half of it"
        )
        row(
            "feed", configuration.feed + (configuration.feedServed ? ", served" : ", not served"),
            fault: Files.exists(configuration.feed + "/head")
                ? nil : "no head: `reveille feed init`")
        row("feed key", configuration.feedKey, fault: fault(privateFile: configuration.feedKey))
        row(
            "feed timing",
            "poll \(configuration.pollSeconds) s, spread \(configuration.spreadSeconds) s, "
                + "cache \(configuration.cacheSeconds) s")
        row(
            "watch",
            configuration.watch ? configuration.watchedFeed ?? "the feed's directory" : "off",
            fault: configuration.watchProblem.map { line($0.message) })
        row("wakes", "event streams, at most \(configuration.streams)")
        row("broadcasts", broadcasts(configuration))
        let gatewayFaults = Gateways.faults(configuration)
        for state in Gateways.states(configuration) {
            let fault = gatewayFaults.first { $0.service == state.service }?.error
            let name = "\(state.service.name)"
            if let fault, fault.isOptional {
                row(name, "off: \(line(fault.message)); its push tokens are refused")
            } else {
                row(name, state.summary, fault: fault.map { line($0.message) })
            }
        }
        let relay = configuration.relaySummary
        row("relay", relay.line, fault: relay.problem.map(line))
        row("log", configuration.logLevel.rawValue)
        row("policy", PrivacyPolicy.hash)
        return faults == 0 ? .success : .configuration
    }

    private static func broadcasts(_ configuration: Configuration) -> String {
        let heartbeat = configuration.heartbeat ? "every" : "no heartbeat, over within"
        let fetches = configuration.fetchesPerSecond
        return "\(heartbeat) \(configuration.intervalSeconds) s, "
            + (fetches > 0 ? "for \(fetches) fetches a second" : "as fast as pushes can go")
    }

    private static func line(_ message: String) -> String {
        message.split(separator: "\n").joined(separator: "; ")
    }

    private static func text(_ address: Configuration.Address) -> String {
        switch address {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    private static func fault(privateDirectory path: String) -> String? {
        guard let status = try? FileStatus(of: path) else { return "missing: `reveille init`" }
        guard status.isDirectory else { return "not a directory" }
        return status.isPrivate ? nil : "must be this user's own with mode 0700"
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
        guard let status = try? FileStatus(of: path) else { return "missing" }
        guard status.isRegular else { return "not a plain file" }
        return status.isPrivate ? nil : "must be this user's own with mode 0600"
    }

    private static func keys(_ configuration: Configuration) -> String {
        guard configuration.keysInMemory else { return configuration.keys }
        return "in memory: every start begins with an empty store; "
            + "clients come back within 2 days and 8 hours"
    }

    private static func rotation(_ configuration: Configuration) -> String {
        let days = configuration.rotationDays
        return "every \(days) days of uptime: what is not renewed expires after \(days) to "
            + "\(2 * days) days"
    }
}
