private import Glibc
import WakeHTTP
import WakeSystem

/// A `PUT` from the socket to its answer: event loop, parser, responder, bytes of the answer.
enum HTTPPath {
    private static let count = 40

    static func make(in directory: String) throws -> HotPath {
        let path = directory + "/http.sock"
        let answer = Response(204, fields: [("Cache-Control", "no-store")])
        let server = try HTTPServer(listeners: [
            ListenerConfiguration(.unix(path: path, mode: 0o600)) { request, responder in
                let isRight =
                    request.isPath("/v1/registration") && request.bearerToken?.count == 43
                    && request.hasJSONBody && request.body.count == 93
                responder.respond(isRight ? answer : Response(400))
            }
        ])
        Task { await server.run() }
        let body = #"{"service":"apns","token":""# + String(repeating: "a", count: 64) + #""}"#
        let token = String(repeating: "A", count: 43)
        let request = Array(
            ("PUT /v1/registration HTTP/1.1\r\nHost: wake.example.org\r\n"
                + "Authorization: Bearer \(token)\r\nUser-Agent: app/1.0\r\nAccept: */*\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                + body).utf8)
        return HotPath(name: "http-put", count: count) {
            // A connection of its own: one from before would have been idle for too long.
            let client = try Client(path)
            for _ in 0..<count { try client.exchange(request) }
        }
    }

    private final class Client {
        private let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        private var answer = [UInt8](repeating: 0, count: 4096)

        init(_ path: String) throws {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { buffer in
                for (index, byte) in path.utf8.prefix(buffer.count - 1).enumerated() {
                    unsafe buffer[index] = byte
                }
            }
            let result = unsafe withUnsafeBytes(of: address) { bytes in
                guard let start = bytes.baseAddress else { return Int32(-1) }
                return unsafe connect(
                    descriptor, start.assumingMemoryBound(to: sockaddr.self),
                    socklen_t(bytes.count))
            }
            guard result == 0 else { throw WrongResult() }
        }

        deinit { close(descriptor) }

        func exchange(_ request: [UInt8]) throws {
            let sent = unsafe send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
            let count = unsafe recv(descriptor, &answer, answer.count, 0)
            guard sent == request.count, count > 12, answer[9] == UInt8(ascii: "2"),
                answer[11] == UInt8(ascii: "4")
            else { throw WrongResult() }
        }
    }
}
