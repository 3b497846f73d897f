/// A request method (RFC 9110 §9). Methods are case-sensitive.
package enum Method: Sendable, Equatable {
    case get, head, put, post, delete, options
    /// Any other valid token. The server answers these itself (501, or 405 for TRACE and CONNECT),
    /// so a handler never meets one.
    case other

    init(_ token: Span<UInt8>) {
        if token.matches("GET") {
            self = .get
        } else if token.matches("PUT") {
            self = .put
        } else if token.matches("DELETE") {
            self = .delete
        } else if token.matches("POST") {
            self = .post
        } else if token.matches("HEAD") {
            self = .head
        } else if token.matches("OPTIONS") {
            self = .options
        } else {
            self = .other
        }
    }
}
