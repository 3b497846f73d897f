import Glibc
import WakeCommand
import WakeFeed
import WakeModel
import WakePublish
import WakeServer
import WakeSystem

/// What `check` prints: a line for each part, and below it what is wrong.
struct CheckTable {
    private struct Row {
        let name: String
        let value: String
        let problem: String?
        let warning: String?
    }

    private var rows: [Row] = []
    /// What prevents a start, in the order in which a start finds it, by the row that it is about.
    private var faults: [(row: String, failure: CommandFailure)]

    init(_ faults: [(row: String, failure: CommandFailure)]) { self.faults = faults }

    mutating func addFirst(_ row: String, _ failure: CommandFailure) {
        faults.insert((row, failure), at: 0)
    }

    /// That with which `serve` would end.
    var status: ExitStatus { faults.first?.failure.status ?? .success }

    mutating func row(_ name: String, _ value: String, warning: String? = nil) {
        let problems = faults.filter { $0.row == name }.map { fault in
            Self.line(fault.failure.message) + (fault.failure.hint.map { "; hint: \($0)" } ?? "")
        }
        rows.append(
            Row(
                name: name, value: value,
                problem: problems.isEmpty ? nil : problems.joined(separator: "; "),
                warning: warning.map(Self.line)))
    }

    func show(json: Bool) {
        guard !json else {
            return Console().json { text in
                text.member("problems", number: faults.count)
                text.beginArray("parts")
                for row in rows {
                    text.beginObject()
                    text.member("name", string: row.name)
                    text.member("value", string: row.value)
                    if let problem = row.problem { text.member("problem", string: problem) }
                    if let warning = row.warning { text.member("warning", string: warning) }
                    text.endObject()
                }
                text.endArray()
            }
        }
        let padding = String(repeating: " ", count: 16)
        for row in rows {
            let remarks = [("problem", row.problem), ("warning", row.warning)]
            let lines = remarks.compactMap { kind, text in
                text.map { "\n\(padding)\(kind): \($0)" }
            }
            Console().out(
                row.name + padding.dropFirst(min(15, row.name.count)) + row.value + lines.joined())
        }
    }

    static func line(_ message: String) -> String {
        message.split(separator: "\n").joined(separator: "; ")
    }

    /// The two listeners, and how many connections there may be.
    mutating func addListeners(_ configuration: Configuration) {
        let proxied = configuration.proxyProtocol ? ", PROXY v2" : ""
        row(
            "http", text(configuration.listen) + proxied,
            warning: listenerWarning(configuration.listen))
        row("origins", configuration.origins?.text ?? "none")
        do throws(SetupError) {
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
        } catch { row("connections", "too many") }
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
        row(
            "admin", text(configuration.admin) + token,
            warning: listenerWarning(configuration.admin))
        addMetrics(configuration)
        addCluster(configuration)
    }

    /// The other shards, where there are any.
    private mutating func addCluster(_ configuration: Configuration) {
        let count = configuration.peers.count
        guard configuration.cluster != nil || count > 0 else { return row("cluster", "off") }
        var warning: String?
        if configuration.cluster == nil {
            warning = "other shards cannot hand deletions on to this one: set [cluster] listen"
        } else if count == 0 {
            warning = "deletions are not handed on to other shards: name them in [cluster] peers"
        }
        row(
            "cluster",
            "\(configuration.cluster.map { text($0) } ?? "no listener"), deletions to \(count) "
                + "peer\(count == 1 ? "" : "s")",
            warning: warning)
    }

    private mutating func addMetrics(_ configuration: Configuration) {
        guard let metrics = configuration.metrics else { return row("metrics", "off") }
        let readers = if case .unix = metrics { "its group" } else { "every user of this machine" }
        row(
            "metrics", text(metrics) + ", read-only, for \(readers)",
            warning: listenerWarning(metrics))
    }

    private func listenerWarning(_ address: Configuration.Address) -> String? {
        address.isLocal
            ? nil
            : "requests with tokens cross the network in clear: listen on 127.0.0.1 or a Unix "
                + "socket, behind a front that speaks TLS (Deploy/nginx.conf)"
    }

    /// The push services, and whether any is on.
    mutating func addGateways(_ configuration: Configuration) -> Bool {
        let missing = Gateways.faults(configuration).filter(\.error.isOptional)
        var isPushing = false
        for state in Gateways.states(configuration) {
            let name = "\(state.service.name)"
            if let (_, error) = missing.first(where: { $0.service == state.service }) {
                row(name, "off: \(Self.line(error.message)); its push tokens are refused")
                continue
            }
            isPushing = isPushing || state.isOn
            let section = configuration.sections[name]
            let isWrong = faults.contains { $0.row == name }
            let key = isWrong ? section?["key"] ?? section?["via-key"] : nil
            row(
                name, state.summary + (key.map { ", key \($0)" } ?? ""),
                warning: keyWarning(section))
        }
        return isPushing
    }

    /// A key of Apple's carries its id in its name; another id is a mistake of copying.
    private func keyWarning(_ section: [String: String]?) -> String? {
        guard let path = section?["key"], let id = section?["key-id"],
            let name = path.split(separator: "/").last, name.hasPrefix("AuthKey_"),
            name.hasSuffix(".p8"), name.dropFirst(8).dropLast(3) != id
        else { return nil }
        return "key-id is \(id), and the file is called \(name)"
    }

    /// The head of the feed, as a client would judge it.
    mutating func addFeed(_ configuration: Configuration, now: Int64) {
        let place = configuration.feed + (configuration.feedServed ? ", served" : ", not served")
        do throws(FeedDirectoryError) {
            let key = FeedKey(try FeedKeyFile.load(configuration.feedKey).verifyingKey)
            let directory = FeedDirectory(configuration.feed)
            do throws(FeedDirectoryError) {
                let head = try directory.head(key)
                let left = Int(clamping: head.expires - now)
                let end = left > 0 ? "expires in \(NumberFormat.clock(left))" : "expired"
                row(
                    "feed", "\(place), sequence \(head.sequence), \(end)",
                    warning: left > 0
                        ? logWarning(directory) ?? originWarning(configuration)
                        : "clients warn their users: `reveille feed refresh`")
                let pause = PauseNotice(until: head.pausedUntil, now: now)
                row(
                    "wake-ups", pause == nil ? "heeded by clients" : "ignored by clients",
                    warning: pause.map { $0.text + "; " + PauseNotice.hint })
            } catch {
                let warning =
                    Files.exists(configuration.feed + "/head")
                    ? "the head is not one that the feed key signed: put that feed's own key, or "
                        + "this key's newest head, in its place"
                    : "no head: `reveille feed init`"
                row("feed", place, warning: warning)
            }
            row("feed key", "\(configuration.feedKey), public key \(key.text)")
            addWitnesses(configuration)
        } catch {
            row("feed", place)
            row("feed key", configuration.feedKey, warning: error.message)
        }
    }

    /// Of a log that a publisher could not continue.
    private func logWarning(_ directory: FeedDirectory) -> String? {
        do throws(FeedDirectoryError) {
            try directory.checkLog()
            return nil
        } catch { return error.message }
    }

    private mutating func addWitnesses(_ configuration: Configuration) {
        guard let path = configuration.witnesses else { return row("witnesses", "none") }
        do throws(WitnessFile.Fault) {
            let policy = try WitnessFile.read(path)
            let reachable = WitnessFile.reachable(policy)
            let others = policy.witnesses.indices.filter { !reachable.contains($0) }
                .map { policy.witnesses[$0].label }
            row(
                "witnesses", "\(path), \(reachable.count) to ask",
                warning: others.isEmpty
                    ? nil
                    : "never asked, for lack of an address or an Ed25519 key: "
                        + others.joined(separator: ", "))
        } catch { row("witnesses", path, warning: error.message) }
    }

    /// Behind a front the two may have names of their own; a public listener has one for both.
    private func originWarning(_ configuration: Configuration) -> String? {
        guard configuration.feedServed, !configuration.listen.isLocal else { return nil }
        return "feed and registrations have one origin, so a network between learns of a fetch who "
            + "is registered: a front gives each a name of its own (Deploy/nginx.conf)"
    }

    private func text(_ address: Configuration.Address) -> String {
        guard case .tcp(let host, _) = address, ["*", "0.0.0.0", "::"].contains(host)
        else { return address.text }
        return address.text + ", at every address of this machine"
    }
}
