import Synchronization
import WakeSystem

/// One complete, validated request. Its bytes carry tokens: they are overwritten when the last copy
/// is gone. A slice that outlives the request keeps its own bytes, which its holder must wipe.
package struct Request: Sendable {
    private let storage: RequestStorage

    private var head: RequestHead { storage.head }

    /// - Parameter bytes: the request from its first byte to the last of its body.
    init(bytes: consuming [UInt8], head: RequestHead, permit: BodyMemoryPermits.Permit? = nil) {
        storage = RequestStorage(bytes, head: head, permit: permit)
    }

    /// GET, HEAD, PUT, POST, DELETE or OPTIONS.
    package var method: Method { head.line.method }

    /// The absolute path as sent: percent-encoding validated, not decoded; no scheme or authority.
    package var path: ArraySlice<UInt8> { storage.bytes[head.line.path] }

    /// The part of the target after the first `?`; nil when there is none.
    package var query: ArraySlice<UInt8>? { head.line.query.map { storage.bytes[$0] } }

    /// The body; empty when the request has none.
    package var body: ArraySlice<UInt8> { storage.bytes[head.body] }

    /// Whether the client wants nothing after this request.
    var closes: Bool { head.closes }

    /// RFC 9112 §2.3: HTTP/1.0 rather than HTTP/1.1.
    var isVersion10: Bool { head.line.isVersion10 }

    /// The values of the fields called `name` (any case), in order, without white space around.
    package func values(of name: StaticString) -> [ArraySlice<UInt8>] {
        let shared = storage.bytes
        var found: [ArraySlice<UInt8>] = []
        forEachField(called: name, in: shared) { found.append(shared[$0]) }
        return found
    }

    /// The value of the field called `name` when there is exactly one, else nil.
    package func onlyValue(of name: StaticString) -> ArraySlice<UInt8>? {
        let shared = storage.bytes
        var found: Range<Int>?
        var count = 0
        forEachField(called: name, in: shared) {
            found = $0
            count += 1
        }
        guard count == 1, let found else { return nil }
        return shared[found]
    }

    /// The token of the one `Authorization` field when its scheme is Bearer, in any case (RFC 6750
    /// §2.1, RFC 9110 §11.1).
    package var bearerToken: ArraySlice<UInt8>? {
        onlyValue(of: "authorization").flatMap(Self.bearerToken)
    }

    /// The token in a value of `Authorization`.
    package static func bearerToken(in value: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let scheme: StaticString = "Bearer "
        let start = value.prefix(scheme.count)
        return start.span.equalsIgnoringCase(scheme) ? value.dropFirst(scheme.count) : nil
    }

    /// Whether the body, if there is one, may be JSON: by its `Content-Type`, or without any.
    package var hasJSONBody: Bool {
        guard !body.isEmpty else { return true }
        let types = values(of: "content-type")
        guard let type = types.first else { return true }
        return types.count == 1 && Self.isJSON(type)
    }

    /// `application/json`, also with `charset=utf-8`, which says nothing new (RFC 8259 §8.1, §11).
    package static func isJSON(_ type: ArraySlice<UInt8>) -> Bool {
        let name: StaticString = "application/json"
        let start = type.prefix(name.count)
        guard start.span.equalsIgnoringCase(name) else { return false }
        let rest = type.dropFirst(name.count).filter { $0 != 0x20 && $0 != 0x09 }
        return rest.isEmpty || rest.span.equalsIgnoringCase(";charset=utf-8")
            || rest.span.equalsIgnoringCase(";charset=\"utf-8\"")
    }

    /// Whether the one `Content-Type` field names this type, with whatever parameters.
    package func hasType(_ name: StaticString) -> Bool {
        guard let type = onlyValue(of: "content-type") else { return false }
        var end = type.firstIndex(of: UInt8(ascii: ";")) ?? type.endIndex
        while end > type.startIndex, [0x20, 0x09].contains(type[end - 1]) { end -= 1 }
        let essence = type[..<end]
        return essence.span.equalsIgnoringCase(name)
    }

    package func isPath(_ path: StaticString) -> Bool {
        let shared = storage.bytes
        return shared.span.extracting(head.line.path).equals(path)
    }

    /// Visits the field lines, which the parser has validated: one pass, no memory.
    private func forEachField(
        called name: StaticString, in shared: [UInt8], _ body: (Range<Int>) -> Void
    ) {
        let span = shared.span
        var start = head.fields.lowerBound
        while start < head.fields.upperBound {
            var end = start
            while span[end] != 0x0D { end += 1 }
            let line = FieldLine(validated: span, start..<end)
            if span.extracting(line.name).equalsIgnoringCase(name) { body(line.value) }
            start = end + 2
        }
    }
}

/// Requests carry tokens: no text made of one shows more than its method and size.
extension Request: Redacted {
    package var description: String { "Request(\(method), \(head.body.upperBound) bytes)" }
}

/// The parts of one request: a copy of the request is a reference to them. Wiped with the last.
private final class RequestStorage: Sendable {
    let head: RequestHead
    private let storage: Mutex<[UInt8]>
    /// Released together with the bytes.
    private let permit: BodyMemoryPermits.Permit?

    init(_ bytes: consuming [UInt8], head: RequestHead, permit: BodyMemoryPermits.Permit?) {
        self.head = head
        storage = Mutex(bytes)
        self.permit = permit
    }

    deinit {
        storage.withLock { $0.wipe() }
    }

    /// The bytes, shared, not copied.
    var bytes: [UInt8] { storage.withLock { $0 } }
}

/// A request method (RFC 9110 §9, RFC 5789, RFC 10008). Methods are case-sensitive.
package enum Method: Sendable, Equatable {
    case get, head, put, post, delete, options, patch, query
    /// Any other token: the server answers 501, or 405 for TRACE and CONNECT; no handler gets one.
    case other

    private static let names: [(Method, StaticString)] = [
        (.get, "GET"), (.put, "PUT"), (.delete, "DELETE"), (.post, "POST"), (.head, "HEAD"),
        (.options, "OPTIONS"), (.patch, "PATCH"), (.query, "QUERY"),
    ]

    package init(named token: Span<UInt8>) {
        for (method, name) in Method.names where token.equals(name) {
            self = method
            return
        }
        self = .other
    }
}
