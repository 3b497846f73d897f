/// One complete, validated request. Its bytes are overwritten when the last copy of it is gone.
package struct Request: Sendable {
    private let bytes: RequestBytes
    private let head: RequestHead

    /// GET, HEAD, PUT, POST, DELETE or OPTIONS.
    package var method: Method { head.method }

    /// - Parameters:
    ///   - bytes: the request from its first byte to the last of its body.
    ///   - head: what the parser found in them.
    ///   - place: what a large body takes up.
    init(bytes: consuming [UInt8], head: RequestHead, place: LargeBodyPlaces.Place? = nil) {
        self.bytes = RequestBytes(bytes, place: place)
        self.head = head
    }

    /// The absolute path as sent: percent-encoding validated, not decoded, an absolute-form target
    /// reduced to its path.
    package var path: ArraySlice<UInt8> { bytes.shared[head.path] }

    /// What follows the first `?` of the target; nil when there is none.
    package var query: ArraySlice<UInt8>? { head.query.map { bytes.shared[$0] } }

    /// The body; empty when the request has none.
    package var body: ArraySlice<UInt8> { bytes.shared[head.body] }

    /// Whether the client wants nothing after this request.
    var closes: Bool { head.closes }

    /// RFC 9112 §2.3: HTTP/1.0 rather than HTTP/1.1.
    var isVersion10: Bool { head.isVersion10 }

    /// The values of every field called `name` (in any case), in the order sent, without
    /// surrounding white space.
    package func values(of name: StaticString) -> [ArraySlice<UInt8>] {
        let shared = bytes.shared
        var found: [ArraySlice<UInt8>] = []
        forEachField(called: name, in: shared) { found.append(shared[$0]) }
        return found
    }

    /// The value of the field called `name` when there is exactly one, else nil.
    package func onlyValue(of name: StaticString) -> ArraySlice<UInt8>? {
        let shared = bytes.shared
        var found: Range<Int>?
        var count = 0
        forEachField(called: name, in: shared) {
            found = $0
            count += 1
        }
        guard count == 1, let found else { return nil }
        return shared[found]
    }

    /// Whether the path is exactly `path`, byte for byte.
    package func isPath(_ path: StaticString) -> Bool {
        let shared = bytes.shared
        return shared.span.extracting(head.path).matches(path)
    }

    /// Walks the field lines, which the parser has validated: a lookup costs one pass and no
    /// memory.
    private func forEachField(
        called name: StaticString, in shared: [UInt8], _ body: (Range<Int>) -> Void
    ) {
        let span = shared.span
        var start = head.fields.lowerBound
        while start < head.fields.upperBound {
            var end = start
            while span[end] != 0x0D { end += 1 }
            let line = FieldLine(validated: span, start..<end)
            if span.extracting(line.name).matchesIgnoringCase(name) { body(line.value) }
            start = end + 2
        }
    }
}

/// Requests carry tokens: no text made of one shows more than its method and size.
extension Request: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "Request(\(method), \(head.body.upperBound) bytes)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
