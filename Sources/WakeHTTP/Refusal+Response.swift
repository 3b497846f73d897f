extension Refusal {
    /// The status and the constant words of the answer: nothing of the request is echoed.
    package var status: UInt16 {
        switch self {
        case .malformed: 400
        case .timeout: 408
        case .lengthRequired: 411
        case .contentTooLarge: 413
        case .targetTooLong: 414
        case .expectationUnknown: 417
        case .headTooLarge: 431
        case .methodNotAllowed: 405
        case .methodUnknown, .transferEncoding: 501
        case .overloaded, .answerOverdue: 503
        case .versionUnknown: 505
        }
    }

    private var title: StaticString {
        switch self {
        case .malformed: "The request is malformed"
        case .timeout: "The request took too long to arrive"
        case .lengthRequired: "Content-Length is required"
        case .contentTooLarge: "The body is too large"
        case .targetTooLong: "The request target is too long"
        case .expectationUnknown: "This expectation cannot be met"
        case .headTooLarge: "The header section is too large"
        case .methodNotAllowed: "This method is not allowed"
        case .methodUnknown: "This method is not implemented"
        case .transferEncoding: "Transfer codings are not implemented"
        case .overloaded: "Too many connections"
        case .answerOverdue: "The answer took too long"
        case .versionUnknown: "This version of HTTP is not supported"
        }
    }

    private var code: StaticString {
        switch self {
        case .malformed: "malformed_request"
        case .timeout: "request_timeout"
        case .lengthRequired: "length_required"
        case .contentTooLarge: "content_too_large"
        case .targetTooLong: "target_too_long"
        case .expectationUnknown: "expectation_failed"
        case .headTooLarge: "head_too_large"
        case .methodNotAllowed: "method_not_allowed"
        case .methodUnknown: "method_not_implemented"
        case .transferEncoding: "transfer_encoding"
        case .overloaded: "overloaded"
        case .answerOverdue: "answer_overdue"
        case .versionUnknown: "version_not_supported"
        }
    }

    /// The answer, after which the connection ends.
    func response(retryAfterSeconds: Int) -> Response {
        var fields: [(StaticString, String)] = []
        switch self {
        case .methodNotAllowed:
            // RFC 9110 §10.2.1: what this server implements at all; a route knows better, but is
            // not asked.
            fields.append(("Allow", "GET, HEAD, PUT, POST, DELETE, OPTIONS"))
        case .overloaded, .answerOverdue:
            fields.append(("Retry-After", String(retryAfterSeconds)))  // RFC 9110 §10.2.3
        default:
            break
        }
        return .problem(status, title: title, code: code, fields: fields, closes: true)
    }
}
