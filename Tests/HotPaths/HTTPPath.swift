import WakeHTTP
import WakeSystem

/// A `PUT` from its bytes to those of the answer: the parser, the connection as a value. Without
/// sockets: how often an event loop waits depends on what else the machine does.
enum HTTPPath {
    private static let count = 200

    static func make() -> HotPath {
        let body = #"{"service":"apns","token":""# + String(repeating: "a", count: 64) + #""}"#
        let token = String(repeating: "A", count: 43)
        let request = Array(
            ("PUT /v1/registration HTTP/1.1\r\nHost: wake.example.org\r\n"
                + "Authorization: Bearer \(token)\r\nUser-Agent: app/1.0\r\nAccept: */*\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                + body).utf8)
        let context = ConnectionContext(limits: HTTPLimits(), counters: HTTPCounters()) { 0 }
        context.setTime(1_000_000_000, wallSeconds: 784_111_777)
        let answer = Response(204, fields: [("Cache-Control", "no-store")])
        return HotPath(name: "http-put", count: count) {
            var connection = HTTPConnection()
            for _ in 0..<count {
                guard
                    case .handle(let request, let sequence) = connection.receive(
                        request.span, context),
                    request.isPath("/v1/registration"), request.bearerToken?.count == 43,
                    request.hasJSONBody, request.body.count == body.utf8.count,
                    connection.offer(.response(answer), sequence: sequence),
                    case .none = connection.advance(context),
                    context.output.starts(with: start)
                else { throw WrongResult() }
                context.clearOutput()
                guard case .none = connection.written(hasUnread: false, context) else {
                    throw WrongResult()
                }
            }
        }
    }

    private static let start = Array("HTTP/1.1 204 ".utf8)
}
