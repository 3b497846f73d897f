import CLinux
import WakeCommand
import WakeModel
import WakeServer
import WakeSystem

/// A client of the running service's admin listener: one request and one answer per connection.
struct AdminClient {
    private let address: Configuration.Address
    private let tokenFile: String?
    /// Milliseconds that the service may take to accept, to read or to write.
    private let timeLimit: UInt32

    init(_ configuration: Configuration) {
        address = configuration.admin
        tokenFile = configuration.adminToken
        timeLimit = 30_000
    }

    /// The listener of a service whose configuration is not at hand.
    init(_ address: Configuration.Address, tokenFile: String?, timeLimit: UInt32) {
        self.address = address
        self.tokenFile = tokenFile
        self.timeLimit = timeLimit
    }

    struct Answer {
        let status: Int
        let body: [UInt8]
        var text: String { String(decoding: body, as: UTF8.self) }

        /// The stable name of a refusal (RFC 9457); empty without one.
        var code: String { (try? JSONValue(parsing: body))?["code"].text ?? "" }
    }

    private static let answerLimit = 1 << 20

    /// How long a service that is watched may not answer: it may be starting again.
    private static let patience = Duration.seconds(5)

    /// Asks about what goes on in the service whether it is watched or not: that it did not answer
    /// once ends no watch.
    func watch<Value>(
        _ ask: () throws(CommandFailure) -> Value
    ) async throws(CommandFailure) -> Value {
        let deadline = UptimeInstant.now + Self.patience
        while true {
            do throws(CommandFailure) {
                return try ask()
            } catch {
                guard error.status == .transient, UptimeInstant.now < deadline else { throw error }
            }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    /// The body of an answer with status 200.
    func get(_ path: String) throws(CommandFailure) -> [UInt8] {
        let answer = try send("GET", path)
        guard answer.status == 200 else { throw Self.refused(answer) }
        return answer.body
    }

    /// Refuses to call a broadcast a success that woke event streams alone, where registrations
    /// wait for pushes.
    func checkGateways() throws(CommandFailure) {
        guard try ServiceNumbers(get("/v1/status")).troubles.contains(.gatewayMissing) else {
            return
        }
        throw CommandFailure(
            "no push was sent: registrations are stored, and no push service is on",
            hint: "`reveille check` shows the sections of the push services; put the missing one "
                + "back, then `reveille reload`")
    }

    static func refused(_ answer: Answer) -> CommandFailure {
        switch answer.code {
        case "admin_token_wrong":
            CommandFailure(
                "the service knows another token than the file of [admin] token holds",
                hint: "send SIGHUP to the service: it reads the file again",
                status: .configuration)
        case "overloaded":
            CommandFailure(
                "the service has too much to do: nothing was done", hint: "try again",
                status: .transient)
        case let code:
            CommandFailure("the service refused with status \(answer.status) \(code)")
        }
    }

    func send(
        _ method: String, _ path: String, body: String = "", asJSON: Bool = false
    ) throws(CommandFailure) -> Answer {
        let socket = try connect()
        var bytes = Array("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n".utf8)
        defer { bytes.wipe() }
        if var authorization = try token()?.authorization {
            bytes += Array("Authorization: ".utf8) + authorization + [0x0D, 0x0A]
            authorization.wipe()
        }
        let rest =
            (asJSON ? "Accept: application/json\r\n" : "")
            + "Connection: close\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        bytes += Array(rest.utf8)
        // A new socket's buffer holds the whole of it.
        guard unsafe linux_send(socket.number, bytes, bytes.count, false) == bytes.count,
            let answer = Console.readAll(from: socket.number, limit: Self.answerLimit)
        else { throw Self.incomplete }
        return try parse(answer)
    }

    private func token() throws(CommandFailure) -> AdminToken? {
        try mapError({ CommandFailure(lines: $0.message, status: .configuration) }) {
            () throws(SetupError) in try tokenFile.map(AdminToken.init(file:))
        }
    }

    private func connect() throws(CommandFailure) -> Descriptor {
        let number =
            switch address {
            case .unix(let path):
                unsafe linux_connect_unix(Array(path.utf8), path.utf8.count, timeLimit)
            case .tcp(let host, let port): unsafe linux_connect_tcp(host, port, timeLimit)
            }
        if number >= 0 { return Descriptor(owning: number) }
        throw CommandFailure(
            "the service does not answer on its admin socket: is it running?",
            hint: "`journalctl -u reveille -p err` says why a unit does not start; by hand:"
                + " `reveille serve`", status: .transient)
    }

    /// Our own service, `Connection: close`: the head, then the body up to the end.
    private func parse(_ bytes: [UInt8]) throws(CommandFailure) -> Answer {
        let end = Array("\r\n\r\n".utf8)
        guard bytes.count > 12, bytes.starts(with: "HTTP/1.1 ".utf8),
            let status = Int(String(decoding: bytes[9..<12], as: UTF8.self)),
            let head = (0...(bytes.count - end.count)).first(where: {
                bytes[$0...].starts(with: end)
            })
        else { throw Self.incomplete }
        return Answer(status: status, body: Array(bytes[(head + end.count)...]))
    }

    static let otherVersion = CommandFailure("the service's answer is not of this version")
    private static let incomplete = CommandFailure(
        "the service's answer on the admin socket was cut short", status: .transient)
}
