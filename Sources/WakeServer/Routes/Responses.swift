private import FoundationEssentials
import WakeHTTP
import WakeModel
import WakeSystem

/// Responses that several routes give; those that never change are rendered once.
extension Response {
    /// For responses that no cache may keep and whose type no client may guess.
    static let privateFields: [(StaticString, String)] = [
        ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
    ]

    /// `PUT` and `DELETE`: byte-identical whatever was there before.
    static let done = Response(204, fields: privateFields)

    /// `POST /v1/registration/wake`: a push goes out if there is a registration.
    static let accepted = Response(202, fields: privateFields)

    /// As the server says it of a request that came as it is.
    static let contentEncoding = Response.problem(
        415, title: "Content codings are not implemented", code: "content_encoding",
        fields: [("Accept-Encoding", "identity")])

    private static let problems: [Problem: Response] = Dictionary(
        uniqueKeysWithValues: Problem.allCases.map { ($0, render($0)) })

    static func problem(_ problem: Problem) -> Response { problems[problem] ?? render(problem) }

    static func json(_ body: [UInt8], status: UInt16 = 200) -> Response {
        Response(
            status, fields: [("Content-Type", "application/json")] + privateFields,
            body: .bytes(body))
    }

    /// A value that the commands decode, see ``AdminJSON``.
    static func answer(_ value: some Encodable) -> Response { .json(AdminJSON.encode(value)) }

    static func text(_ text: String, status: UInt16 = 200) -> Response {
        Response(
            status, fields: [("Content-Type", "text/plain; charset=utf-8")] + privateFields,
            body: .bytes(Array(text.utf8)))
    }

    /// The response to GET and HEAD, for routes that only read.
    static func read(_ request: Request, _ response: () -> Response) -> Response {
        guard request.method == .get || request.method == .head else {
            return .methodNotAllowed(allow: "GET, HEAD")
        }
        return response()
    }

    /// A problem of a registered type (RFC 9457 §4.2).
    private static func typed(_ problem: Problem, type: StaticString) -> Response {
        var text = JSONText()
        text.beginObject()
        text.member("type", string: "\(type)")
        text.member("title", string: "\(problem.title)")
        text.member("status", number: Int(problem.status))
        text.member("code", string: "\(problem.code)")
        text.endObject()
        return Response(
            problem.status,
            fields: [
                ("Content-Type", "application/problem+json"), ("Cache-Control", "no-store"),
            ], body: .bytes(text.bytes))
    }

    /// - Parameter retryAfter: seconds.
    static func problem(_ problem: Problem, retryAfter: Int) -> Response {
        render(problem, [("Retry-After", "\(retryAfter)")])
    }

    private static func render(
        _ problem: Problem, _ more: [(StaticString, String)] = []
    ) -> Response {
        var fields = more
        switch problem {
        case .instanceTokenMissing, .instanceTokenMalformed, .adminTokenWrong:
            fields.append(("WWW-Authenticate", "Bearer"))  // RFC 9110 §15.5.2: a must
        case .storeFull, .storeUnavailable, .overloaded, .feedUnavailable:
            fields.append(("Retry-After", "60"))
        case .obliviousKey:
            return .typed(
                problem, type: "https://iana.org/assignments/http-problem-types#ohttp-key")
        default: break
        }
        return .problem(problem.status, title: problem.title, code: problem.code, fields: fields)
    }
}

/// JSON between the admin listener and the commands: values of ours, with sorted members. What
/// strangers send is read by ``JSONScanner``.
package enum AdminJSON {
    package static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { Array($0) } ?? []
    }

    package static func decode<Value: Decodable>(_ body: [UInt8]) -> Value? {
        try? JSONDecoder().decode(Value.self, from: Data(body))
    }
}
