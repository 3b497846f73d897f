import WakeSystem

/// The fields that decide where a request ends and what its connection does after it.
struct Framing: Sendable, Equatable {
    private var contentLength: Int?
    private var hasTransferEncoding = false
    private var hasContentEncoding = false
    private var hostCount: UInt32 = 0
    private(set) var closes = false
    private(set) var expectsContinue = false
    /// Anything else than 100-continue was expected.
    private var expectsUnknown = false

    /// - Parameter authority: that of an absolute-form target.
    mutating func add(
        _ field: FieldLine, of bytes: Span<UInt8>, authority: Range<Int>?
    ) -> RequestError? {
        let name = bytes.extracting(field.name)
        let value = bytes.extracting(field.value)
        switch name.count {
        case 4 where name.equalsIgnoringCase("host"):
            hostCount += 1
            // RFC 9112 §3.2: more than one, or an invalid one.
            guard hostCount == 1, Authority.isValid(value) else { return .malformed }
            // RFC 9112 §3.2.2 ignores Host beside an absolute-form target; §3.2 has the client
            // send the same in both. Two different names are two readings of one request.
            if let authority, !bytes.extracting(authority).equalsIgnoringCase(value) {
                return .malformed
            }
        case 6 where name.equalsIgnoringCase("expect"):
            if value.equalsIgnoringCase("100-continue") {
                expectsContinue = true
            } else {
                expectsUnknown = true
            }
        case 10 where name.equalsIgnoringCase("connection"):
            return addOptions(value)
        case 14 where name.equalsIgnoringCase("content-length"):
            // RFC 9112 §6.3: several, even equal ones, are refused here.
            guard contentLength == nil, let length = Framing.parseLength(value) else {
                return .malformed
            }
            contentLength = length
        case 16 where name.equalsIgnoringCase("content-encoding"):
            hasContentEncoding = true
        case 17 where name.equalsIgnoringCase("transfer-encoding"):
            hasTransferEncoding = true
        default:
            break
        }
        return nil
    }

    /// RFC 9110 §7.6.1: a list of tokens, of which only `close` changes anything here.
    private mutating func addOptions(_ value: Span<UInt8>) -> RequestError? {
        var start = 0
        while start <= value.count {
            var end = start
            while end < value.count, value[end] != 0x2C { end += 1 }
            let option = value.extracting(FieldLine.trim(value, start..<end))
            for index in 0..<option.count where !ByteClass.token.contains(option[index]) {
                return .malformed
            }
            if option.equalsIgnoringCase("close") { closes = true }
            start = end + 1
        }
        return nil
    }

    /// The number of body bytes, once all fields were added.
    func bodyLength(of line: RequestLine, limit: Int) -> Result<Int, RequestError> {
        // RFC 9112 §3.2: exactly one Host in HTTP/1.1; more than one is wrong in any version.
        guard hostCount == 1 || (hostCount == 0 && line.isVersion10) else {
            return .failure(.malformed)
        }
        if hasTransferEncoding {
            // RFC 9112 §6.1: faulty beside Content-Length (smuggling) and in HTTP/1.0; else a 501.
            let isFaulty = contentLength != nil || line.isVersion10
            return .failure(isFaulty ? .malformed : .transferEncoding)
        }
        // RFC 9110 §10.1.1
        if expectsUnknown { return .failure(.expectationUnknown) }
        guard let contentLength else {
            // RFC 9112 §6.3: no body; 411 if the method means to send one (RFC 9110 §15.5.12).
            let needsBody = line.method == .put || line.method == .post
            return needsBody ? .failure(.lengthRequired) : .success(0)
        }
        // RFC 9110 §15.5.14
        guard contentLength <= limit else { return .failure(.contentTooLarge) }
        // RFC 9110 §15.5.16: no content coding is decoded here.
        return contentLength > 0 && hasContentEncoding
            ? .failure(.contentEncoding) : .success(contentLength)
    }

    /// RFC 9112 §6.2, §6.3: digits only, no sign, list or white space; nil also on overflow.
    static func parseLength(_ value: Span<UInt8>) -> Int? {
        guard value.count > 0 else { return nil }
        var length = 0
        for index in 0..<value.count {
            guard value[index].isDigit else { return nil }
            let (product, overflows) = length.multipliedReportingOverflow(by: 10)
            let (sum, carries) = product.addingReportingOverflow(Int(value[index] - 0x30))
            guard !overflows, !carries else { return nil }
            length = sum
        }
        return length
    }
}

/// The positions of name and value in one field line (RFC 9112 §5).
struct FieldLine: Equatable {
    let name: Range<Int>
    let value: Range<Int>

    /// Checks and splits a line without CRLF or control bytes but tab; nil when it is malformed.
    init?(checking bytes: Span<UInt8>, _ line: Range<Int>) {
        var colon = line.lowerBound
        // RFC 9112 §5.1: no white space between name and colon; §5.2: none before the name
        // (obs-fold). Neither is a token byte, so both end here.
        while colon < line.upperBound, ByteClass.token.contains(bytes[colon]) { colon += 1 }
        guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == 0x3A else {
            return nil
        }
        self.init(bytes, line, colon: colon)
    }

    /// Splits a line that has been checked before.
    init(validated bytes: Span<UInt8>, _ line: Range<Int>) {
        var colon = line.lowerBound
        while bytes[colon] != 0x3A { colon += 1 }
        self.init(bytes, line, colon: colon)
    }

    private init(_ bytes: Span<UInt8>, _ line: Range<Int>, colon: Int) {
        name = line.lowerBound..<colon
        value = FieldLine.trim(bytes, (colon + 1)..<line.upperBound)
    }

    /// RFC 9112 §5.1: optional white space around a value is not part of it.
    fileprivate static func trim(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var start = range.lowerBound
        var end = range.upperBound
        while start < end, isBlank(bytes[start]) { start += 1 }
        while end > start, isBlank(bytes[end - 1]) { end -= 1 }
        return start..<end
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
