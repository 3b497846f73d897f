import Glibc
import WakeCommand
import WakeFeed
import WakeModel
import WakeServer
import WakeSodium
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

    var faults: Int { rows.count { $0.problem != nil } }

    mutating func row(
        _ name: String, _ value: String, fault: String? = nil, warning: String? = nil
    ) {
        rows.append(
            Row(
                name: name, value: value, problem: fault.map(Self.line),
                warning: warning.map(Self.line)))
    }

    func show(json: Bool) {
        guard !json else {
            return Console().json { text in
                text.member("problems", number: faults)
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
        let http = listenerTrouble(configuration.listen)
        row(
            "http", text(configuration.listen) + proxied, fault: http.fault, warning: http.warning)
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
        let isShared = configuration.admin == configuration.listen
        let admin = listenerTrouble(configuration.admin)
        row(
            "admin", text(configuration.admin) + token,
            fault: isShared
                ? "the address of [http] listen: each needs one of its own"
                : tokenFault(configuration) ?? admin.fault,
            warning: admin.warning)
        addMetrics(configuration)
    }

    private mutating func addMetrics(_ configuration: Configuration) {
        guard let address = configuration.metrics else { return row("metrics", "off") }
        let isShared = [configuration.listen, configuration.admin].contains(address)
        let trouble = listenerTrouble(address)
        row(
            "metrics", text(address) + ", read-only, for every user of this machine",
            fault: isShared ? "another listener has this address: each needs one" : trouble.fault,
            warning: trouble.warning)
    }

    /// What keeps a listener from being bound, or makes it unsafe.
    private func listenerTrouble(
        _ address: Configuration.Address
    ) -> (fault: String?, warning: String?) {
        switch address {
        case .unix(let path):
            // `sun_path` with its end (unix(7)).
            if path.utf8.count > 107 {
                return ("a socket's path has 107 bytes at most: name a shorter one", nil)
            }
            let isThere = Files.exists(Files.parent(of: path) ?? ".")
            return (
                nil,
                isThere
                    ? nil
                    : "its directory is missing; RuntimeDirectory= of a unit makes it at the start"
            )
        case .tcp:
            let warning =
                "requests with tokens cross the network in clear: listen on 127.0.0.1 or a Unix "
                + "socket, behind a front that speaks TLS (Deploy/nginx.conf)"
            return (nil, address.isLocal ? nil : warning)
        }
    }

    /// The head of the feed, as a client would judge it.
    mutating func addFeed(_ configuration: Configuration, now: Int64) {
        let place = configuration.feed + (configuration.feedServed ? ", served" : ", not served")
        do throws(FeedDirectoryError) {
            let key = FeedKey(try FeedKeyFile.load(configuration.feedKey).verifyingKey)
            do throws(FeedDirectoryError) {
                let head = try FeedDirectory(configuration.feed).head(key)
                let left = Int(clamping: head.expires - now)
                let end = left > 0 ? "expires in \(NumberFormat.clock(left))" : "expired"
                row(
                    "feed", "\(place), sequence \(head.sequence), \(end)",
                    fault: left > 0 ? nil : "clients warn their users: `reveille feed refresh`",
                    warning: originWarning(configuration))
            } catch {
                let fault =
                    Files.exists(configuration.feed + "/head")
                    ? "the head is not one that the feed key signed: put that feed's own key, or "
                        + "this key's newest head, in its place"
                    : "no head: `reveille feed init`"
                row("feed", place, fault: fault)
            }
            row("feed key", "\(configuration.feedKey), public key \(key.text)")
            addWitnesses(configuration)
        } catch {
            row("feed", place)
            let isMissing = !Files.exists(configuration.feedKey)
            row(
                "feed key", configuration.feedKey,
                fault: isMissing
                    ? "missing: bring it back from your copy; clients believe no other"
                    : error.message)
        }
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
        } catch { row("witnesses", path, fault: error.message) }
    }

    /// Behind a front the two may have names of their own; a public listener has one for both.
    private func originWarning(_ configuration: Configuration) -> String? {
        guard configuration.feedServed, !configuration.listen.isLocal else { return nil }
        return "feed and registrations have one origin, so a network between learns of a fetch who "
            + "is registered: a front gives each a name of its own (Deploy/nginx.conf)"
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
        guard case .tcp(let host, _) = address, ["*", "0.0.0.0", "::"].contains(host)
        else { return address.text }
        return address.text + ", at every address of this machine"
    }
}
