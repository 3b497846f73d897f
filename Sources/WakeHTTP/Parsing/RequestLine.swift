import WakeSystem

/// Method, target and version (RFC 9112 §3); all ranges count from the request's first byte.
struct RequestLine: Sendable, Equatable {
    private(set) var method = Method.other
    /// RFC 9112 §2.3: HTTP/1.0 rather than HTTP/1.1.
    private(set) var isVersion10 = false
    private(set) var path = 0..<0
    private(set) var query: Range<Int>?
    /// Host and port of an absolute-form target.
    private(set) var authority: Range<Int>?

    /// Parses `line`, which has no control bytes and no CRLF. On failure the parts found before
    /// the fault stay: a faulty HEAD is answered without content.
    mutating func parse(
        _ line: Range<Int>, of bytes: Span<UInt8>, targetBytes: Int
    ) -> RequestError? {
        var spaces = (first: -1, second: -1)
        for index in line where bytes[index] == 0x20 {
            if spaces.first < 0 {
                spaces.first = index
            } else if spaces.second < 0 {
                spaces.second = index
            } else {
                return .malformed
            }
        }
        // RFC 9112 §3: one space between the three parts; without a version it is HTTP/0.9.
        guard spaces.second >= 0 else { return .malformed }
        let method = line.lowerBound..<spaces.first
        let target = (spaces.first + 1)..<spaces.second
        let version = (spaces.second + 1)..<line.upperBound
        guard !method.isEmpty, !target.isEmpty, !version.isEmpty else { return .malformed }
        for index in method where !ByteClass.token.contains(bytes[index]) { return .malformed }
        // RFC 9110 §15.5.15
        guard target.count <= targetBytes else { return .targetTooLong }
        if let error = parseVersion(bytes.extracting(version)) { return error }
        if let error = parseMethod(bytes.extracting(method)) { return error }
        return parseTarget(target, of: bytes) ? nil : .malformed
    }

    /// RFC 9112 §2.3: case-sensitive; RFC 9110 §15.6.6 for all others.
    private mutating func parseVersion(_ version: Span<UInt8>) -> RequestError? {
        if version.equals("HTTP/1.1") { return nil }
        guard version.equals("HTTP/1.0") else { return .versionUnknown }
        isVersion10 = true
        return nil
    }

    private mutating func parseMethod(_ token: Span<UInt8>) -> RequestError? {
        method = Method(named: token)
        guard method == .other else { return nil }
        // RFC 9110 §9.1: 405 if known, else 501. TRACE would echo the client's credentials.
        return token.equals("TRACE") || token.equals("CONNECT")
            ? .methodNotAllowed : .methodUnknown
    }

    /// RFC 9112 §3.2.1 origin-form or §3.2.2 absolute-form; nothing else.
    private mutating func parseTarget(_ target: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        if bytes[target.lowerBound] == 0x2F { return parsePath(target, of: bytes) }
        guard let authorityStart = schemeEnd(target, of: bytes) else { return false }
        var end = authorityStart
        while end < target.upperBound, bytes[end] != 0x2F, bytes[end] != 0x3F { end += 1 }
        guard Authority.isValid(bytes.extracting(authorityStart..<end)) else { return false }
        authority = authorityStart..<end
        if end < target.upperBound, bytes[end] == 0x2F {
            return parsePath(end..<target.upperBound, of: bytes)
        }
        // RFC 9110 §4.2.3: an empty path is "/". The slash before the authority lends its byte.
        path = (authorityStart - 1)..<authorityStart
        return end == target.upperBound || parseQuery((end + 1)..<target.upperBound, of: bytes)
    }

    /// The index after `http://` or `https://`.
    private func schemeEnd(_ target: Range<Int>, of bytes: Span<UInt8>) -> Int? {
        let text = bytes.extracting(target)
        if text.count > 7, text.extracting(0..<7).equalsIgnoringCase("http://") {
            return target.lowerBound + 7
        }
        if text.count > 8, text.extracting(0..<8).equalsIgnoringCase("https://") {
            return target.lowerBound + 8
        }
        return nil
    }

    private mutating func parsePath(_ range: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        var end = range.lowerBound
        while end < range.upperBound, bytes[end] != 0x3F { end += 1 }
        // RFC 3986 §3.5: "#" is of no class here, a fragment is never sent.
        guard bytes.extracting(range.lowerBound..<end).consists(of: .path) else { return false }
        path = range.lowerBound..<end
        return end == range.upperBound || parseQuery((end + 1)..<range.upperBound, of: bytes)
    }

    private mutating func parseQuery(_ range: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        guard bytes.extracting(range).consists(of: .query) else { return false }
        query = range
        return true
    }
}
