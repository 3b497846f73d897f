/// A rejection by the server itself. The connection ends: the start of the next request is unknown.
package enum RequestError: Error, Sendable, Equatable, CaseIterable {
    case malformed
    case timeout
    case lengthRequired
    case contentTooLarge
    case contentEncoding
    case targetTooLong
    case expectationUnknown
    case headTooLarge
    case methodUnknown
    case methodNotAllowed
    case transferEncoding
    case versionUnknown
    case overloaded
    case answerOverdue

    /// Status and constant words of the response: nothing of the request is echoed.
    private var problem: (status: UInt16, code: StaticString, title: StaticString) {
        switch self {
        case .malformed:
            (400, "malformed_request", "The request is malformed")
        case .methodNotAllowed:
            (405, "method_not_allowed", "This method is not allowed")
        case .timeout:
            (408, "request_timeout", "The request took too long to arrive")
        case .lengthRequired:
            (411, "length_required", "Content-Length is required")
        case .contentTooLarge:
            (413, "content_too_large", "The body is too large")
        case .targetTooLong:
            (414, "target_too_long", "The request target is too long")
        case .contentEncoding:
            (415, "content_encoding", "Content codings are not implemented")
        case .expectationUnknown:
            (417, "expectation_failed", "This expectation cannot be met")
        case .headTooLarge:
            (431, "head_too_large", "The header section is too large")
        case .methodUnknown:
            (501, "method_not_implemented", "This method is not implemented")
        case .transferEncoding:
            (501, "transfer_encoding", "Transfer codings are not implemented")
        case .overloaded:
            (503, "overloaded", "Too many connections")
        case .answerOverdue:
            (503, "answer_overdue", "The answer took too long")
        case .versionUnknown:
            (505, "version_not_supported", "This version of HTTP is not supported")
        }
    }

    package var status: UInt16 { problem.status }

    func response(retryAfterSeconds: Int) -> Response {
        var fields: [(StaticString, String)] = []
        switch self {
        case .methodNotAllowed:
            // RFC 9110 §10.2.1: all methods of this server; the route is not asked.
            fields.append(("Allow", "GET, HEAD, PUT, POST, DELETE, OPTIONS"))
        case .contentEncoding:
            fields.append(("Accept-Encoding", "identity"))  // RFC 9110 §12.5.3
        case .overloaded, .answerOverdue:
            fields.append(("Retry-After", String(retryAfterSeconds)))  // RFC 9110 §10.2.3
        default:
            break
        }
        return .problem(
            problem.status, title: problem.title, code: problem.code, fields: fields, closes: true)
    }
}
