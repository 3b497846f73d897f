package import WakeSystem

/// A response, rendered to bytes when made: keep constant ones in a `let`. It must not name `Date`,
/// `Content-Length` and `Connection`, which are the server's.
package struct Response: Sendable {
    /// The content after the head.
    package enum Body: Sendable {
        /// Nothing; `Content-Length: 0` where a length is due.
        case none
        case bytes([UInt8])
        case file(FileBody)
    }

    package let status: UInt16
    package let body: Body
    /// Whether the connection ends after this response.
    package let closes: Bool
    /// Status line and own fields, each with its CRLF, without the empty line.
    let head: [UInt8]

    /// `status`: 200 to 599. `fields`: constant names, values of printable ASCII, in this order.
    package init(
        _ status: UInt16, fields: [(StaticString, String)] = [], body: Body = .none,
        closes: Bool = false
    ) {
        precondition((200...599).contains(status), "a final status is 200 to 599")
        var head: [UInt8] = []
        head.append(contentsOf: "HTTP/1.1 \(status) ".utf8)
        head.append(text: reasonPhrase(of: status))
        head.append(text: "\r\n")
        self.init(
            status, body: body, closes: closes, head: head + ResponseFields(fields).lines)
    }

    private init(_ status: UInt16, body: Body, closes: Bool, head: [UInt8]) {
        self.status = status
        self.body = body
        self.closes = closes
        self.head = head
    }

    /// The same response, after which the connection ends.
    package func closing() -> Response {
        Response(status, body: body, closes: true, head: head)
    }

    /// The same response with more fields after its own.
    package func adding(_ fields: ResponseFields) -> Response {
        fields.isEmpty
            ? self : Response(status, body: body, closes: closes, head: head + fields.lines)
    }

    /// The fields of its own, in their order; names as they were given.
    package var fieldLines: [(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)] {
        // Rendered by `init`: after the status line each is "name: value".
        head.split(separator: 0x0A).dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            return (line[..<colon], line[(colon + 2)...].dropLast())
        }
    }

    /// Number of body bytes; nil where a length must not be sent.
    var contentLength: Int? {
        // RFC 9110 §8.6: none with 204; with 304 it would have to be that of the 200.
        if status == 204 || status == 304 { return nil }
        switch body {
        case .none: return 0
        case .bytes(let bytes): return bytes.count
        case .file(let file): return Int(file.count)
        }
    }
}

/// Fields of responses, rendered once: constant names, values of printable ASCII.
package struct ResponseFields: Sendable {
    /// Each with its CRLF.
    let lines: [UInt8]

    package var isEmpty: Bool { lines.isEmpty }

    package init(_ fields: [(StaticString, String)] = []) {
        var lines: [UInt8] = []
        for (name, value) in fields {
            Self.check(name, value)
            lines.append(text: name)
            lines.append(text: ": ")
            lines.append(contentsOf: value.utf8)
            lines.append(text: "\r\n")
        }
        self.lines = lines
    }

    private static func check(_ name: StaticString, _ value: String) {
        let reserved: [StaticString] = [
            "content-length", "transfer-encoding", "connection", "date", "keep-alive",
        ]
        precondition(name.count > 0, "a field has a name")
        for index in 0..<name.count {
            precondition(ByteClass.token.contains(name[index]), "a field name is a token")
        }
        let bytes = Array(name.description.utf8)
        for other in reserved {
            precondition(!bytes.span.equalsIgnoringCase(other), "this field is the server's")
        }
        // RFC 9110 §5.5: a CR, LF or NUL in a value would let it forge further fields.
        precondition(
            value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "a field value is printable ASCII")
    }
}

/// A part of a file as a response body; sent without passing through user memory (sendfile(2)).
package struct FileBody: Sendable {
    let file: OpenFile
    let offset: Int64
    let count: Int64

    /// `file`: a regular one, open for reading; it closes with the last response that sends it. One
    /// that is shorter than `offset` and `count` say breaks the connection.
    package init(_ file: OpenFile, offset: Int64 = 0, count: Int64) {
        precondition(offset >= 0 && count >= 0, "a file body lies inside its file")
        self.file = file
        self.offset = offset
        self.count = count
    }
}

extension Response {
    /// 405 with the methods the resource has (RFC 9110 §15.5.6), as a problem document.
    package static func methodNotAllowed(allow methods: String) -> Response {
        problem(
            405, title: "Method Not Allowed", code: "method_not_allowed",
            fields: [("Allow", methods)])
    }

    /// A problem document (RFC 9457) of constants. `code` is the stable name programs compare.
    package static func problem(
        _ status: UInt16, title: StaticString, code: StaticString,
        fields: [(StaticString, String)] = [], closes: Bool = false
    ) -> Response {
        var body: [UInt8] = []
        body.append(text: "{\"title\":\"")
        body.append(text: title)
        body.append(contentsOf: "\",\"status\":\(status),\"code\":\"".utf8)
        body.append(text: code)
        body.append(text: "\"}\n")
        let type: [(StaticString, String)] = [
            ("Content-Type", "application/problem+json"), ("Cache-Control", "no-store"),
        ]
        return Response(status, fields: type + fields, body: .bytes(body), closes: closes)
    }
}

/// The usual phrase of a status code, or empty (RFC 9110 §15, RFC 6585 §5, RFC 4918 §11.5).
private func reasonPhrase(of status: UInt16) -> StaticString {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 417: "Expectation Failed"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 503: "Service Unavailable"
    case 505: "HTTP Version Not Supported"
    case 507: "Insufficient Storage"
    default: ""
    }
}
