import Synchronization
import TestSupport

/// An HTTP server on loopback that answers each request as a closure says, right or wrong, and
/// keeps the bytes of all requests.
final class LoopbackServer: Sendable {
    /// Bytes to send, and then others over and over until the client goes away.
    struct Reply: Sendable {
        var bytes: [UInt8]
        var endless: [UInt8] = []

        init(_ head: String, _ body: [UInt8] = [], endless: [UInt8] = []) {
            bytes = Array(head.utf8) + body
            self.endless = endless
        }

        static func ok(_ body: [UInt8], type: String = "application/octet-stream") -> Reply {
            Reply(
                "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n"
                    + "Content-Length: \(body.count)\r\n\r\n", body)
        }

        static let noContent = Reply("HTTP/1.1 204 No Content\r\n\r\n")
    }

    private final class Log: Sendable {
        let requests = Mutex<[[UInt8]]>([])
    }

    private let server: WireServer
    private let log: Log

    init(reply: @escaping @Sendable (_ line: String) -> Reply) throws {
        let log = Log()
        self.log = log
        server = try WireServer { peer in
            while let request = try? Self.next(from: peer) {
                log.requests.withLock { $0.append(request) }
                let reply = reply(String(decoding: request.prefix { $0 != 0x0D }, as: UTF8.self))
                do {
                    try peer.send(reply.bytes)
                    while !reply.endless.isEmpty { try peer.send(reply.endless) }
                } catch {
                    return
                }
            }
        }
    }

    deinit { server.refuse() }

    var port: UInt16 { server.port }

    /// Every request, head and body.
    var received: [[UInt8]] { log.requests.withLock { $0 } }

    private static func next(from peer: LoopbackClient) throws -> [UInt8] {
        let head = try peer.receive(through: "\r\n\r\n")
        let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
            .flatMap { Int($0.dropFirst("Content-Length: ".count)) }
        return Array(head.utf8) + (try peer.receive(exactly: length ?? 0))
    }
}
