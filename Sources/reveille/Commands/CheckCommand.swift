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
        options: [ConfigurationFile.option],
        examples: ["reveille check --config /etc/reveille/reveille.conf"],
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        let configuration = try ConfigurationFile.load(invocation)
        var table = CheckTable()
        table.addListeners(configuration)
        table.row("store", configuration.data, fault: fault(privateDirectory: configuration.data))
        table.row("store keys", keys(configuration), fault: fault(keys: configuration))
        table.row("rotation", rotation(configuration))
        table.row("store limit", storeLimit(configuration), warning: room(configuration))
        table.row("new rows", configuration.freeRegistrationsSummary)
        table.row(
            "feed", configuration.feed + (configuration.feedServed ? ", served" : ", not served"),
            fault: Files.exists(configuration.feed + "/head")
                ? nil : "no head: `reveille feed init`")
        table.row(
            "feed key", configuration.feedKey, fault: fault(privateFile: configuration.feedKey))
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
                table.row(name, state.summary, fault: fault?.message)
            }
        }
        let relay = configuration.relaySummary
        table.row("relay", relay.line, fault: relay.problem)
        table.row("log", configuration.logLevel.rawValue)
        table.row("policy", PrivacyPolicy.hash)
        return table.faults == 0 ? .success : .configuration
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
        return limit + ": waking so many takes \(seconds) s"
            + (isLate ? ", longer than the interval" : "")
    }

    private static func fault(privateDirectory path: String) -> String? {
        guard let status = try? FileStatus(of: path) else { return "missing: `reveille init`" }
        guard status.isDirectory else { return "not a directory" }
        guard status.isPrivate else { return "must be this user's own with mode 0700" }
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
        guard let status = try? FileStatus(of: path) else { return "missing" }
        guard status.isRegular else { return "not a plain file" }
        return status.isPrivate ? fault(above: path) : "must be this user's own with mode 0600"
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

/// What `check` prints: a line for each part, and below it what is wrong.
private struct CheckTable {
    private let console = Console()
    private(set) var faults = 0

    mutating func row(
        _ name: String, _ value: String, fault: String? = nil, warning: String? = nil
    ) {
        let padding = String(repeating: " ", count: 16)
        console.out(name + padding.dropFirst(min(15, name.count)) + value)
        if let fault {
            faults += 1
            console.out(padding + "problem: \(Self.line(fault))")
        }
        if let warning { console.out(padding + "warning: \(Self.line(warning))") }
    }

    static func line(_ message: String) -> String {
        message.split(separator: "\n").joined(separator: "; ")
    }

    /// The two listeners, and how many connections there may be.
    mutating func addListeners(_ configuration: Configuration) {
        let proxied = configuration.proxyProtocol ? ", PROXY v2" : ""
        row("http", text(configuration.listen) + proxied)
        do throws(DescriptorShortage) {
            let budget = try DescriptorBudget(configuration)
            let cut =
                "this process may open \(budget.limit) sockets and files; LimitNOFILE= in "
                + "the unit (elsewhere: ulimit -Hn) gives it more"
            row(
                "connections", "at most \(budget.connections)", warning: budget.isCut ? cut : nil)
            let kept =
                "fewer than the \(configuration.streams) of streams: a quarter of the "
                + "connections is kept for registering and deleting"
            row(
                "wakes", "event streams, at most \(budget.streams)",
                warning: budget.streams < configuration.streams ? kept : nil)
        } catch { row("connections", "too many", fault: error.message) }
        if configuration.knowsAddresses {
            row(
                "address caps",
                "of each /24 or /56 \(configuration.connectionsPerAddress) connections, "
                    + "\(configuration.streamsPerAddress) event streams")
        } else {
            row(
                "address caps", "off",
                warning: """
                    clients come through a front that does not say whose they are, so one of them \
                    could take all event streams: let the front speak PROXY protocol v2 \
                    (proxy-protocol = on), or limit addresses itself (Deploy/nginx.conf)
                    """)
        }
        let token = configuration.adminToken.map { ", token \($0)" } ?? ""
        row("admin", text(configuration.admin) + token, fault: tokenFault(configuration))
    }

    private func tokenFault(_ configuration: Configuration) -> String? {
        do throws(AdminTokenError) {
            _ = try configuration.adminToken.map { path throws(AdminTokenError) in
                try AdminToken(file: path)
            }
            return nil
        } catch { return error.message }
    }

    private func text(_ address: Configuration.Address) -> String {
        switch address {
        case .tcp(let host, let port):
            let name = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            return ["*", "0.0.0.0", "::"].contains(host)
                ? name + ", at every address of this machine" : name
        case .unix(let path): return "unix:\(path)"
        }
    }
}
