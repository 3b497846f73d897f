/// What the parser found in the bytes of one request; all ranges count from the request's first
/// byte.
struct RequestHead: Sendable, Equatable {
    var method = Method.other
    /// RFC 9112 §2.3: HTTP/1.0 rather than HTTP/1.1.
    var isVersion10 = false
    var path = 0..<0
    var query: Range<Int>?
    /// Host and port of an absolute-form target.
    var authority: Range<Int>?
    /// The field lines, each with its CRLF, without the empty line.
    var fields = 0..<0
    var body = 0..<0
    /// The body is larger than any path but one takes.
    var isLarge = false
    /// The client sends, or wants, nothing after this request.
    var closes = false
    /// RFC 9110 §10.1.1: the client waits for 100 before it sends the body.
    var expectsContinue = false
}
