import CLinux
import WakeCommand
import WakeServer
import WakeSystem

/// A client of the running service's admin socket: one request and one answer per connection.
struct AdminClient {
    let address: Configuration.Address

    struct Answer {
        let status: Int
        let body: [UInt8]
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    private static let answerLimit = 1 << 20

    /// The body of an answer with status 200.
    func get(_ path: String) throws(CommandFailure) -> [UInt8] {
        let answer = try send("GET", path)
        guard answer.status == 200 else { throw Self.refused(answer) }
        return answer.body
    }

    static func refused(_ answer: Answer) -> CommandFailure {
        CommandFailure("the service refused with status \(answer.status)")
    }

    func send(
        _ method: String, _ path: String, body: String = ""
    ) throws(CommandFailure) -> Answer {
        let socket = try connect()
        let request =
            "\(method) \(path) HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        // A new socket's buffer holds the whole of it.
        let bytes = Array(request.utf8)
        guard unsafe linux_send(socket.number, bytes, bytes.count, false) == bytes.count,
            let answer = Console.readAll(from: socket.number, limit: Self.answerLimit)
        else { throw Self.incomplete }
        return try parse(answer)
    }

    /// Milliseconds that the service may take to accept, to read or to write.
    private static let timeLimit: UInt32 = 30_000

    private func connect() throws(CommandFailure) -> Descriptor {
        let number =
            switch address {
            case .unix(let path):
                unsafe linux_connect_unix(Array(path.utf8), path.utf8.count, Self.timeLimit)
            case .tcp(let host, let port): unsafe linux_connect_tcp(host, port, Self.timeLimit)
            }
        if number >= 0 { return Descriptor(owning: number) }
        throw CommandFailure(
            "the service does not answer on its admin socket: is it running?",
            hint: "start it with `reveille serve`, as the same user", status: .transient)
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
