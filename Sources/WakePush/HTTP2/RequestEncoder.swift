/// Turns push tokens into requests by copying: the header block of the shape is encoded once for
/// each state of the peer's table, and a request is that block with a token in its hole.
struct RequestEncoder: Sendable {
    private(set) var shape: RequestShape
    /// Size of the peer's table that we use, at most the 4096 bytes it begins with (RFC 7541 §4.2).
    private var tableSize = 4096
    /// The peer must be told that its table changed.
    private var mustResize = false
    /// The peer remembers our fields.
    private var isPrimed = false

    /// Block up to the token, block after it, for a token of `tokenCount` bytes.
    private var head: [UInt8] = []
    private var tail: [UInt8] = []
    private var tokenCount = -1
    /// The whole request with a hole for the token, once the peer remembers our fields; empty where
    /// the body depends on the token.
    private var template: [UInt8] = []
    /// Bytes of the shape's body without a token.
    private let bodyBytes: Int

    init(_ shape: RequestShape) {
        precondition(shape.fitsFrames, "a request shape larger than a frame")
        self.shape = shape
        bodyBytes = shape.body.count + shape.bodyTail.count
    }

    /// Bytes of a request's body with a token of `count` bytes.
    func bodyCount(token count: Int) -> Int {
        shape.tokenPlace == .body ? bodyBytes + count : bodyBytes
    }

    mutating func setAuthorization(_ value: [UInt8]) {
        shape.authorization = value
        precondition(shape.fitsFrames, "a request shape larger than a frame")
        tokenCount = -1
        // An indexed value is one of those the peer remembers: they are all sent anew.
        if shape.indexesAuthorization { isPrimed = false }
    }

    /// SETTINGS_HEADER_TABLE_SIZE has changed.
    mutating func setTableSize(_ size: Int) {
        let usable = min(size, 4096)
        guard usable != tableSize else { return }
        tableSize = usable
        mustResize = true
        isPrimed = false
        tokenCount = -1
    }

    /// Appends the whole next request.
    mutating func append(
        stream: UInt32, token: Span<UInt8>, into bytes: inout [UInt8]
    ) {
        guard isPrimed, token.count == tokenCount, !template.isEmpty else {
            appendHeaders(stream: stream, token: token, into: &bytes)
            if bodyCount(token: token.count) > 0 {
                appendBody(stream: stream, token: token, into: &bytes)
            }
            return
        }
        bytes.append(
            template: template, hole: token, at: head.count, stream: stream, at: 5,
            and: head.count + token.count + tail.count + 5)
    }

    /// Appends the HEADERS frame of the next request.
    mutating func appendHeaders(
        stream: UInt32, token: Span<UInt8>, into bytes: inout [UInt8]
    ) {
        precondition(token.count <= RequestShape.tokenBytes, "a push token longer than allowed")
        let inPath = shape.tokenPlace == .path
        let wasPrimed = isPrimed
        if !wasPrimed || token.count != tokenCount { prepare(token.count) }
        let start = bytes.count
        bytes.append(contentsOf: head)
        bytes.put(big: stream, at: start + 5)
        if inPath { bytes.append(span: token) }
        bytes.append(contentsOf: tail)
        if !wasPrimed {
            // What was just sent is what the peer remembers from here on.
            isPrimed = true
            mustResize = false
            tokenCount = -1
        }
    }

    /// The whole body; for those that cannot leave at once.
    func body(token: Span<UInt8>) -> [UInt8] {
        var bytes = shape.body
        if shape.tokenPlace == .body { bytes.append(span: token) }
        return bytes + shape.bodyTail
    }

    /// Appends the body as one DATA frame.
    func appendBody(stream: UInt32, token: Span<UInt8>, into bytes: inout [UInt8]) {
        FrameWriter.head(
            length: bodyCount(token: token.count), kind: FrameKind.data,
            flags: FrameFlag.endStream, stream: stream, into: &bytes)
        bytes.append(contentsOf: shape.body)
        if shape.tokenPlace == .body { bytes.append(span: token) }
        bytes.append(contentsOf: shape.bodyTail)
    }

    // MARK: The block

    private var indexedFields: [RequestShape.Field] {
        var fields = [RequestShape.Field(":authority", shape.authority)] + shape.fields
        if shape.indexesAuthorization, !shape.authorization.isEmpty {
            var field = RequestShape.Field("authorization", "")
            field.value = shape.authorization
            fields.append(field)
        }
        return fields.filter { StaticTable.find(name: $0.name, value: $0.value).whole == nil }
    }

    private mutating func prepare(_ count: Int) {
        var block: [UInt8] = []
        if mustResize, !isPrimed {
            // RFC 7541 §4.2: through 0, so that both tables are known to be empty.
            HPACKWriter.tableSize(0, into: &block)
            if tableSize > 0 { HPACKWriter.tableSize(tableSize, into: &block) }
        }
        HPACKWriter.indexed(3, into: &block)  // :method: POST
        HPACKWriter.literalOrIndex(":scheme", shape.scheme, into: &block)
        HPACKWriter.literalName([], staticName: StaticTable.path, .without, into: &block)
        let path = Array(shape.path.utf8)
        let hole = shape.tokenPlace == .path ? count : 0
        HPACKInteger.write(path.count + hole, prefix: 7, into: &block)
        block.append(contentsOf: path)
        let rest = fieldsBlock()
        let length = block.count + hole + rest.count
        head.removeAll(keepingCapacity: true)
        let ends = bodyCount(token: count) == 0
        FrameWriter.head(
            length: length, kind: FrameKind.headers,
            flags: FrameFlag.endHeaders | (ends ? FrameFlag.endStream : 0), stream: 0,
            into: &head)
        head.append(contentsOf: block)
        tail = rest
        template = []
        if shape.tokenPlace == .path, !ends {
            template = head + [UInt8](repeating: 0, count: count) + rest
            let none: [UInt8] = []
            appendBody(stream: 0, token: none.span, into: &template)
        }
        tokenCount = count
    }

    /// Everything after the path.
    private func fieldsBlock() -> [UInt8] {
        var block: [UInt8] = []
        let remembered = indexedFields
        // Eviction would shift indices: either all fit the peer's table, or none is remembered.
        let fits = remembered.reduce(0) { $0 + $1.name.count + $1.value.count + 32 } <= tableSize
        var next = StaticTable.count + remembered.count
        for field in [RequestShape.Field(":authority", shape.authority)] + shape.fields {
            if let whole = StaticTable.find(name: field.name, value: field.value).whole {
                HPACKWriter.indexed(whole, into: &block)
                continue
            }
            append(field, fits, index: next, into: &block)
            next -= 1
        }
        guard !shape.authorization.isEmpty else { return block }
        if shape.indexesAuthorization, let field = remembered.last {
            append(field, fits, index: next, into: &block)
        } else {
            HPACKWriter.literal(
                name: Array("authorization".utf8), value: shape.authorization, .never,
                into: &block)
        }
        return block
    }

    /// - Parameter index: of the field once all are remembered: the first sent has the highest.
    private func append(
        _ field: RequestShape.Field, _ fits: Bool, index: Int, into block: inout [UInt8]
    ) {
        if !fits {
            HPACKWriter.literal(name: field.name, value: field.value, .without, into: &block)
        } else if isPrimed {
            HPACKWriter.indexed(index, into: &block)
        } else {
            HPACKWriter.literal(name: field.name, value: field.value, .incremental, into: &block)
        }
    }
}
