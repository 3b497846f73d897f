import WakeSystem

/// A parser of response heads, line by line, into a ``FetchResponse``.
struct ResponseHead {
    /// Status line, fields, interim responses and trailers together.
    static let maximumBytes = 16 * 1024

    private enum Phase { case status, fields, trailers }

    private var phase = Phase.status
    private var bytes = 0
    private var status = 0
    private var contentLength: UInt64?
    private var isChunked = false
    private var isEncoded = false
    private var contentRange: (first: UInt64, total: UInt64?)?
    private var contentType: FetchContentType?
    private var retryAfter: [UInt8]?
    private var date: [UInt8]?
    /// Seconds since 1970, for a `Retry-After` date in a response that has no `Date`.
    private let wallClock: Int64
    private let expected: FetchField?
    private var hasExpected = false

    init(wallClock: Int64, expected: FetchField? = nil) {
        self.wallClock = wallClock
        self.expected = expected
    }

    /// Consumes one line; returns the response after a final head, or throws `protocolViolation`.
    mutating func consume(_ line: Span<UInt8>) throws(FetchError) -> FetchResponse? {
        bytes += line.count
        guard bytes <= Self.maximumBytes, line.count > 0 else { throw .protocolViolation }
        let line = Self.trimmingLineEnd(line)
        switch phase {
        case .trailers: return nil
        case .status:
            try readStatus(line)
            phase = .fields
            return nil
        case .fields:
            guard line.isEmpty else {
                try readField(line)
                return nil
            }
            return try endOfHead()
        }
    }

    private mutating func endOfHead() throws(FetchError) -> FetchResponse? {
        // RFC 9110 §15.2: interim responses are not the answer. 101 was never asked for.
        guard status != 101 else { throw .protocolViolation }
        if status < 200 {
            let counted = bytes
            self = ResponseHead(wallClock: wallClock, expected: expected)
            bytes = counted
            return nil
        }
        // RFC 9112 §6.3: both together "ought to be handled as an error".
        guard !(isChunked && contentLength != nil) else { throw .protocolViolation }
        guard expected == nil || hasExpected else { throw .protocolViolation }
        phase = .trailers
        return FetchResponse(
            status: status, contentLength: contentLength,
            contentRangeStart: status == 206 ? contentRange?.first : nil,
            contentRangeTotal: status == 206 ? contentRange?.total : nil,
            retryAfter: retryAfter.flatMap(seconds(ofRetryAfter:)), contentType: contentType,
            date: date.flatMap(HTTPDate.seconds(of:)), isEncoded: isEncoded)
    }

    /// RFC 9112 §4: `HTTP/1.1 200 reason`; the reason is ignored.
    private mutating func readStatus(_ line: [UInt8]) throws(FetchError) {
        let parts = line.split(
            separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0].starts(with: "HTTP/".utf8), parts[1].count == 3,
            let code = Self.number(parts[1]), (100...599).contains(code)
        else { throw .protocolViolation }
        status = Int(code)
    }

    private mutating func readField(_ line: [UInt8]) throws(FetchError) {
        // RFC 9112 §5.1, §5.2: no white space before the colon, no folded lines.
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            line[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { throw .protocolViolation }
        let name = String(decoding: line[..<colon].map(\.lowercased), as: UTF8.self)
        let value = Self.trimmed(line[(colon + 1)...])
        if let expected, name == expected.name.lowercased(), value.elementsEqual(expected.value) {
            hasExpected = true
        }
        switch name {
        case "content-length":
            // RFC 9112 §6.3: more than one value, or no number, is unrecoverable.
            guard contentLength == nil, let length = Self.number(value) else {
                throw .protocolViolation
            }
            contentLength = length
        case "transfer-encoding": isChunked = true
        case "content-encoding":
            isEncoded = !value.map(\.lowercased).elementsEqual("identity".utf8)
        case "content-range": contentRange = Self.range(value)
        case "content-type": contentType = FetchContentType(value)
        case "retry-after": retryAfter = Array(value)
        case "date": date = Array(value)
        default: break
        }
    }

    /// RFC 9110 §14.4: `bytes 65536-99999/100000`, or `*` for an unknown length.
    private static func range(_ value: ArraySlice<UInt8>) -> (first: UInt64, total: UInt64?)? {
        guard value.prefix(6).map(\.lowercased).elementsEqual("bytes ".utf8) else { return nil }
        let range = value.dropFirst(6)
        guard let dash = range.firstIndex(of: UInt8(ascii: "-")),
            let slash = range.firstIndex(of: UInt8(ascii: "/")), dash < slash,
            let first = number(range[..<dash]), let last = number(range[(dash + 1)..<slash]),
            first <= last
        else { return nil }
        let total = range[(slash + 1)...]
        if total.elementsEqual("*".utf8) { return (first, nil) }
        guard let total = number(total), last < total else { return nil }
        return (first, total)
    }

    /// RFC 9110 §10.2.3: seconds, or a date, relative to the server's clock if it is sent.
    private func seconds(ofRetryAfter value: [UInt8]) -> Int? {
        if !value.isEmpty, value.allSatisfy(\.isDigit) {
            return Int(min(Self.number(value[...]) ?? .max, UInt64(Int32.max)))
        }
        guard let then = HTTPDate.seconds(of: value) else { return nil }
        let now = date.flatMap(HTTPDate.seconds(of:)) ?? wallClock
        return Int(min(max(then - now, 0), Int64(Int32.max)))
    }

    /// RFC 9112 §2.2: a recipient may accept a bare LF as line end.
    private static func trimmingLineEnd(_ line: Span<UInt8>) -> [UInt8] {
        var end = line.count
        if end > 0, line[end - 1] == 0x0A { end -= 1 }
        if end > 0, line[end - 1] == 0x0D { end -= 1 }
        return Array(copying: line.extracting(0..<end))
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let end = value.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? value.startIndex
        return value[..<end].drop(while: isSpace)
    }

    /// Digits only, no sign; nil on overflow.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard digits.allSatisfy(\.isDigit) else { return nil }
        return UInt64(String(decoding: digits, as: UTF8.self))
    }
}

extension FetchContentType {
    /// RFC 9110 §8.3.1: the type and subtype, without parameters, in any case.
    init(_ value: ArraySlice<UInt8>) {
        let end = value.firstIndex { $0 == UInt8(ascii: ";") || $0 == 0x20 || $0 == 0x09 }
        let name = String(decoding: value[..<(end ?? value.endIndex)], as: UTF8.self).lowercased()
        self = Self(rawValue: name) ?? .other
    }
}
