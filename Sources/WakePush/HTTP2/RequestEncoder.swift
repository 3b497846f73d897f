import WakeSystem

/// Makes requests by copying: the header block is encoded once for each state of the peer's table,
/// and a request is that block with a push token inserted.
struct RequestEncoder: Sendable {
    private(set) var template: RequestTemplate
    /// Size of the peer's table that we use, at most the 4096 bytes it begins with (RFC 7541 §4.2).
    private var tableSize = 4096
    /// The next block must announce a new table size.
    private var mustResize = false
    /// The peer's table has our fields.
    private var isPrimed = false
    /// Block up to the token, block after it, for a token of `tokenCount` bytes.
    private var head: [UInt8] = []
    private var tail: [UInt8] = []
    private var tokenCount = -1
    /// The whole request with a hole for the token, once primed; empty where its body varies.
    private var wholeRequest: [UInt8] = []
    private var bodyBytes: Int

    init(_ template: RequestTemplate) {
        precondition(template.fitsFrames, "a request larger than a frame")
        self.template = template
        bodyBytes = template.bodyBytes
    }

    /// Bytes of a request's body with a token of `count` bytes.
    func bodyCount(token count: Int) -> Int {
        template.tokenPlace == .body ? bodyBytes + count : bodyBytes
    }

    /// Replaces the template for later requests.
    mutating func update(_ template: RequestTemplate) {
        precondition(template.fitsFrames, "a request larger than a frame")
        // What is in the peer's table must be what is meant: if not, all fields are sent again.
        if template.indexed != self.template.indexed { isPrimed = false }
        self.template = template
        bodyBytes = template.bodyBytes
        tokenCount = -1
    }

    mutating func setTableSize(_ size: Int) {
        let usable = min(size, 4096)
        guard usable != tableSize else { return }
        tableSize = usable
        mustResize = true
        isPrimed = false
        tokenCount = -1
    }

    /// Appends the whole next request.
    mutating func append(stream: UInt32, token: Span<UInt8>, into bytes: inout [UInt8]) {
        guard isPrimed, token.count == tokenCount, !wholeRequest.isEmpty else {
            appendHeaders(stream: stream, token: token, into: &bytes)
            if bodyCount(token: token.count) > 0 {
                appendBody(stream: stream, token: token, into: &bytes)
            }
            return
        }
        bytes.append(
            wholeRequest, hole: token, at: head.count, stream: stream, at: 5,
            and: head.count + token.count + tail.count + 5)
    }

    mutating func appendHeaders(stream: UInt32, token: Span<UInt8>, into bytes: inout [UInt8]) {
        precondition(token.count <= RequestTemplate.tokenBytes, "a push token longer than allowed")
        let inPath = template.tokenPlace == .path
        let wasPrimed = isPrimed
        if !wasPrimed || token.count != tokenCount { prepare(token.count) }
        let start = bytes.count
        bytes.append(contentsOf: head)
        bytes.put(bigEndian: stream, at: start + 5)
        if inPath { bytes.append(span: token) }
        bytes.append(contentsOf: tail)
        if !wasPrimed {
            isPrimed = true
            mustResize = false
            tokenCount = -1
        }
    }

    /// The whole body, for one that cannot be sent at once.
    func body(token: Span<UInt8>) -> [UInt8] {
        var bytes = template.body
        if template.tokenPlace == .body { bytes.append(span: token) }
        return bytes + template.bodyTail
    }

    func appendBody(stream: UInt32, token: Span<UInt8>, into bytes: inout [UInt8]) {
        FrameWriter.head(
            length: bodyCount(token: token.count), kind: .data,
            flags: FrameFlag.endStream, stream: stream, into: &bytes)
        bytes.append(contentsOf: template.body)
        if template.tokenPlace == .body { bytes.append(span: token) }
        bytes.append(contentsOf: template.bodyTail)
    }

    private mutating func prepare(_ count: Int) {
        var block: [UInt8] = []
        if mustResize, !isPrimed {
            // RFC 7541 §4.2: through 0, so that both tables are known to be empty.
            HPACKWriter.tableSize(0, into: &block)
            if tableSize > 0 { HPACKWriter.tableSize(tableSize, into: &block) }
        }
        HPACKWriter.indexed(3, into: &block)  // :method: POST
        HPACKWriter.literalOrIndex(":scheme", template.scheme, into: &block)
        HPACKWriter.literalName([], staticName: StaticTable.path, .without, into: &block)
        let path = Array(template.path.utf8)
        let hole = template.tokenPlace == .path ? count : 0
        HPACKInteger.write(path.count + hole, prefix: 7, into: &block)
        block.append(contentsOf: path)
        let rest = fieldsBlock()
        let length = block.count + hole + rest.count
        head.removeAll(keepingCapacity: true)
        let ends = bodyCount(token: count) == 0
        FrameWriter.head(
            length: length, kind: .headers,
            flags: FrameFlag.endHeaders | (ends ? FrameFlag.endStream : 0), stream: 0, into: &head)
        head.append(contentsOf: block)
        tail = rest
        wholeRequest = []
        if template.tokenPlace == .path, !ends {
            wholeRequest = head + [UInt8](repeating: 0, count: count) + rest
            let none: [UInt8] = []
            appendBody(stream: 0, token: none.span, into: &wholeRequest)
        }
        tokenCount = count
    }

    private func fieldsBlock() -> [UInt8] {
        var block: [UInt8] = []
        let remembered = template.indexed
        // Eviction would shift indices: either all fields fit the peer's table, or none is indexed.
        let fits = remembered.reduce(0) { $0 + $1.name.count + $1.value.count + 32 } <= tableSize
        var next = StaticTable.count + remembered.count
        for field in [RequestTemplate.Field(":authority", template.authority)] + template.fields {
            if let whole = StaticTable.find(name: field.name, value: field.value).whole {
                HPACKWriter.indexed(whole, into: &block)
                continue
            }
            append(field, fits, index: next, into: &block)
            next -= 1
        }
        guard !template.authorization.isEmpty else { return block }
        if template.indexesAuthorization, let field = remembered.last {
            append(field, fits, index: next, into: &block)
        } else {
            HPACKWriter.literal(
                name: Array("authorization".utf8), value: template.authorization, .never,
                into: &block)
        }
        return block
    }

    /// - Parameter index: of the field once all are in the table: the first sent has the highest.
    private func append(
        _ field: RequestTemplate.Field, _ fits: Bool, index: Int, into block: inout [UInt8]
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

extension RequestTemplate {
    fileprivate var bodyBytes: Int { body.count + bodyTail.count }

    /// The fields that are remembered in the peer's table.
    fileprivate var indexed: [Field] {
        var fields = [Field(":authority", authority)] + self.fields
        if indexesAuthorization, !authorization.isEmpty {
            var field = Field("authorization", "")
            field.value = authorization
            fields.append(field)
        }
        return fields.filter { StaticTable.find(name: $0.name, value: $0.value).whole == nil }
    }
}

extension Array where Element == UInt8 {
    /// Appends `request` with a token at `place` and the stream id at both frames' heads.
    fileprivate mutating func append(
        _ request: [UInt8], hole token: Span<UInt8>, at place: Int, stream: UInt32,
        at first: Int, and second: Int
    ) {
        precondition(
            place >= 0 && place <= request.count - token.count
                && (0...request.count - 4).contains(first)
                && (0...request.count - 4).contains(second),
            "a hole beyond the request")
        let start = count
        append(span: request.span)
        unsafe withUnsafeMutableBytes { bytes in
            let copy = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
            unsafe token.withUnsafeBytes { token in
                unsafe UnsafeMutableRawBufferPointer(rebasing: copy[place...])
                    .copyMemory(from: token)
            }
            unsafe copy.storeBytes(of: stream.bigEndian, toByteOffset: first, as: UInt32.self)
            unsafe copy.storeBytes(of: stream.bigEndian, toByteOffset: second, as: UInt32.self)
        }
    }
}
