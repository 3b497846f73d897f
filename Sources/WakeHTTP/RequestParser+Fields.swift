/// The fields that decide where a request ends and what its connection does; all others are the
/// handler's.
extension RequestParser {
    mutating func takeField(_ field: FieldLine, of bytes: Span<UInt8>) -> Refusal? {
        let name = bytes.extracting(field.name)
        switch name.count {
        case 4 where name.matchesIgnoringCase("host"):
            return takeHost(bytes.extracting(field.value), of: bytes)
        case 6 where name.matchesIgnoringCase("expect"):
            takeExpect(bytes.extracting(field.value))
        case 10 where name.matchesIgnoringCase("connection"):
            return takeConnection(bytes.extracting(field.value))
        case 14 where name.matchesIgnoringCase("content-length"):
            // RFC 9112 §6.3: several, even equal ones, are refused here.
            guard framing.contentLength == nil,
                let length = Framing.parseLength(bytes.extracting(field.value))
            else { return .malformed }
            framing.contentLength = length
        case 17 where name.matchesIgnoringCase("transfer-encoding"):
            framing.hasTransferEncoding = true
        default:
            break
        }
        return nil
    }

    private mutating func takeHost(_ value: Span<UInt8>, of bytes: Span<UInt8>) -> Refusal? {
        framing.hostCount += 1
        // RFC 9112 §3.2: more than one, or an invalid one.
        guard framing.hostCount == 1, Authority.isValid(value) else { return .malformed }
        // RFC 9112 §3.2.2 ignores Host beside an absolute-form target; §3.2 has the client send the
        // same in both. Two different names are two readings of one request.
        if let authority = head.authority {
            guard bytes.extracting(authority).matchesIgnoringCase(value) else { return .malformed }
        }
        return nil
    }

    private mutating func takeExpect(_ value: Span<UInt8>) {
        if value.matchesIgnoringCase("100-continue") {
            framing.expectsContinue = true
        } else {
            framing.expectsUnknown = true
        }
    }

    /// RFC 9110 §7.6.1: a list of tokens. Options other than `close` (keep-alive, upgrade) change
    /// nothing here.
    private mutating func takeConnection(_ value: Span<UInt8>) -> Refusal? {
        var start = 0
        while start <= value.count {
            var end = start
            while end < value.count, value[end] != 0x2C { end += 1 }
            var first = start
            var last = end
            while first < last, value[first] == 0x20 || value[first] == 0x09 { first += 1 }
            while last > first, value[last - 1] == 0x20 || value[last - 1] == 0x09 { last -= 1 }
            let option = value.extracting(first..<last)
            for index in 0..<option.count where !ByteClass.token.contains(option[index]) {
                return .malformed
            }
            if option.matchesIgnoringCase("close") { framing.closes = true }
            start = end + 1
        }
        return nil
    }
}
