import WakeSystem

extension BinaryMessage {
    /// Field lines of a message at most, those of interim responses included.
    package static let fieldLimit = 64

    /// Reads one whole message, known-length or indeterminate-length (RFC 9292 §3.1, §3.2).
    package init(_ bytes: [UInt8]) throws(BinaryMessageError) {
        var reader = BinaryMessageReader(bytes)
        self = try reader.message()
    }
}

/// Reads the sections of a message in their order.
private struct BinaryMessageReader {
    private let bytes: [UInt8]
    private var offset = 0
    private var fieldCount = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private var isAtEnd: Bool { offset == bytes.count }

    mutating func message() throws(BinaryMessageError) -> BinaryMessage {
        let framing = try integer()
        guard framing <= 3 else { throw .framing }
        let isKnown = framing < 2
        var control = framing % 2 == 0 ? try requestControl() : try responseControl()
        // RFC 9292 §3.5.1: interim responses come first. Nobody here waits for one.
        while case .response(let status) = control, status < 200 {
            _ = try fields(isKnown)
            control = try responseControl()
        }
        // RFC 9292 §3.8: what is empty at the end may be left out.
        let fields = isAtEnd ? [] : try fields(isKnown)
        let content = isAtEnd ? [] : try content(isKnown)
        let trailers = isAtEnd ? [] : try self.fields(isKnown)
        guard bytes.span.isZero(offset..<bytes.count) else { throw .padding }
        return BinaryMessage(
            control: control, fields: fields, content: content, trailers: trailers)
    }

    // MARK: Control data

    private mutating func requestControl() throws(BinaryMessageError) -> BinaryMessage.Control {
        let (method, scheme) = (try text(), try text())
        let (authority, path) = (try text(), try text())
        // RFC 9113 §8.3.1; CONNECT and OPTIONS * serve no purpose in such a message (RFC 9292 §4).
        guard !method.isEmpty, all(method, { $0.isTokenByte }), !scheme.isEmpty,
            all(scheme, { $0.isAlphanumeric || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E }),
            all(authority, { $0 > 0x20 && $0 < 0x7F && $0 != 0x40 && $0 != 0x2F }),
            !path.isEmpty, bytes[path.lowerBound] == UInt8(ascii: "/"),
            all(path, { $0 > 0x20 && $0 < 0x7F && $0 != 0x23 })
        else { throw .control }
        return .request(method: method, scheme: scheme, authority: authority, path: path)
    }

    private mutating func responseControl() throws(BinaryMessageError) -> BinaryMessage.Control {
        let status = try integer()
        guard (100...599).contains(status) else { throw .control }
        return .response(status: UInt16(status))
    }

    // MARK: Fields

    private mutating func fields(
        _ isKnown: Bool
    ) throws(BinaryMessageError) -> [BinaryMessage.Field] {
        var fields: [BinaryMessage.Field] = []
        guard isKnown else {
            while true {
                let count = try integer()
                guard count > 0 else { return fields }
                fields.append(try field(try range(count), before: bytes.count))
            }
        }
        let end = try range(try integer(), moving: false).upperBound
        while offset < end {
            let name = try range(try integer())
            fields.append(try field(name, before: end))
        }
        return fields
    }

    /// The rest of a field line whose name was read.
    private mutating func field(
        _ name: Range<Int>, before end: Int
    ) throws(BinaryMessageError) -> BinaryMessage.Field {
        guard name.upperBound < end else { throw .truncated }
        let value = try range(try integer())
        guard value.upperBound <= end else { throw .length }
        fieldCount += 1
        guard fieldCount <= BinaryMessage.fieldLimit else { throw .tooManyFields }
        // RFC 9113 §8.2.1; a colon would make it a pseudo-field, of which we know none.
        guard !name.isEmpty, all(name, { $0.isTokenByte && !$0.isCapital }),
            !Self.connectionFields.contains(where: { bytes.span.extracting(name).equals($0) }),
            all(value, { $0 != 0 && $0 != 0x0A && $0 != 0x0D }),
            value.isEmpty
                || !Self.isSpace(bytes[value.lowerBound])
                    && !Self.isSpace(bytes[value.upperBound - 1])
        else { throw .field }
        return BinaryMessage.Field(name: name, value: value)
    }

    /// RFC 9113 §8.2.2.
    private static let connectionFields: [StaticString] = [
        "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade",
    ]

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    // MARK: Content

    private mutating func content(_ isKnown: Bool) throws(BinaryMessageError) -> [Range<Int>] {
        guard isKnown else {
            var chunks: [Range<Int>] = []
            while true {
                let count = try integer()
                guard count > 0 else { return chunks }
                chunks.append(try range(count))
            }
        }
        let content = try range(try integer())
        return content.isEmpty ? [] : [content]
    }

    // MARK: Bytes

    /// An integer of variable length (RFC 9000 §16), of any of its lengths.
    private mutating func integer() throws(BinaryMessageError) -> Int {
        guard offset < bytes.count else { throw .truncated }
        let count = 1 << Int(bytes[offset] >> 6)
        guard offset + count <= bytes.count else { throw .truncated }
        var value = Int(bytes[offset] & 0x3F)
        for index in 1..<count { value = value << 8 | Int(bytes[offset + index]) }
        offset += count
        return value
    }

    /// The next bytes.
    private mutating func range(
        _ count: Int, moving isMoving: Bool = true
    ) throws(BinaryMessageError) -> Range<Int> {
        guard count <= bytes.count - offset else { throw .truncated }
        let range = offset..<offset + count
        if isMoving { offset += count }
        return range
    }

    private mutating func text() throws(BinaryMessageError) -> Range<Int> {
        try range(try integer())
    }

    private func all(_ range: Range<Int>, _ condition: (UInt8) -> Bool) -> Bool {
        for index in range where !condition(bytes[index]) { return false }
        return true
    }
}

extension UInt8 {
    /// RFC 9110 §5.6.2: tchar.
    fileprivate var isTokenByte: Bool {
        isAlphanumeric
            || [
                0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C,
                0x7E,
            ].contains(self)
    }
}
