/// Where name and value of one field line stand (RFC 9112 §5).
struct FieldLine: Equatable {
    let name: Range<Int>
    let value: Range<Int>

    /// Splits and checks a line without its CRLF; nil when it is malformed. Control bytes other
    /// than tab are known to be absent.
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

    /// RFC 9112 §5.1: optional white space around the value is not part of it.
    private init(_ bytes: Span<UInt8>, _ line: Range<Int>, colon: Int) {
        var start = colon + 1
        var end = line.upperBound
        while start < end, FieldLine.isBlank(bytes[start]) { start += 1 }
        while end > start, FieldLine.isBlank(bytes[end - 1]) { end -= 1 }
        name = line.lowerBound..<colon
        value = start..<end
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
