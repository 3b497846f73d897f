import WakeSystem

/// The parts of one request; all ranges count from the request's first byte.
struct RequestHead: Sendable, Equatable {
    fileprivate(set) var line = RequestLine()
    /// The field lines, each with its CRLF, without the empty line.
    fileprivate(set) var fields = 0..<0
    fileprivate(set) var body = 0..<0
    /// The body is larger than any path but one allows.
    fileprivate(set) var isLarge = false
    /// The client sends, or wants, nothing after this request.
    fileprivate(set) var closes = false
    /// RFC 9110 §10.1.1: the client waits for 100 before it sends the body.
    fileprivate(set) var expectsContinue = false

    var withoutBody: RequestHead {
        var head = self
        head.body = body.lowerBound..<body.lowerBound
        return head
    }
}

/// A strict HTTP/1.1 request parser: it is shown the bytes of one request from its first, each time
/// more have come, and reads each byte of the head once. How bytes were split changes no result.
struct RequestParser: Sendable {
    enum Step: Sendable, Equatable {
        /// The request ends after `consumed` bytes.
        case complete(consumed: Int)
        case needMore
        case invalid(RequestError)
    }

    enum Stage: Sendable, Equatable { case start, requestLine, fields, body }

    let limits: RequestLimits
    private(set) var stage = Stage.start
    /// Complete once `stage` is `.body`.
    private(set) var head = RequestHead()
    /// First byte not yet read, and first byte of its line.
    private var position = 0
    private var lineStart = 0
    private var fieldCount: UInt32 = 0
    private var framing = Framing()

    /// RFC 9112 §3: a method longer than any implemented is unknown (501).
    static let methodBytes = 32

    init(limits: RequestLimits) {
        self.limits = limits
    }

    /// Reads the new part of `bytes`, which start at the request's first byte and only ever grow.
    mutating func advance(over bytes: Span<UInt8>) -> Step {
        while stage != .body {
            switch findLine(in: bytes) {
            case .needMore: return .needMore
            case .invalid(let error): return .invalid(error)
            case .line(let line):
                if let error = parse(line, of: bytes) { return .invalid(error) }
            }
        }
        return bytes.count >= head.body.upperBound
            ? .complete(consumed: head.body.upperBound) : .needMore
    }

    private enum LineStep {
        case line(Range<Int>)
        case needMore
        case invalid(RequestError)
    }

    /// The next line without its CRLF. Bare CR, bare LF, NUL and other control bytes are errors.
    private mutating func findLine(in bytes: Span<UInt8>) -> LineStep {
        while position < bytes.count {
            let byte = bytes[position]
            if byte == 0x0D {
                guard position + 1 < bytes.count else { return .needMore }
                // RFC 9112 §2.2: a bare CR is invalid.
                guard bytes[position + 1] == 0x0A else { return .invalid(.malformed) }
                guard position + 2 <= limits.headBytes else { return .invalid(tooLong) }
                let line = lineStart..<position
                position += 2
                lineStart = position
                return .line(line)
            }
            // RFC 9112 §2.2 allows a bare LF as a line end; not here, as two readings of a message
            // allow smuggling. RFC 9110 §5.5: no other control bytes.
            if byte < 0x20 && byte != 0x09 || byte == 0x7F { return .invalid(.malformed) }
            position += 1
            if position > lineLimit { return .invalid(tooLong) }
        }
        return .needMore
    }

    /// Position beyond which the current line, or the head, is too long whatever follows.
    private var lineLimit: Int {
        guard stage != .fields else { return limits.headBytes }
        // The longest method, two spaces and the version stand beside the target.
        let line = lineStart + limits.targetBytes + RequestParser.methodBytes + 10
        return min(line, limits.headBytes)
    }

    private var tooLong: RequestError { stage == .fields ? .headTooLarge : .targetTooLong }

    private mutating func parse(_ line: Range<Int>, of bytes: Span<UInt8>) -> RequestError? {
        switch stage {
        case .start where line.isEmpty:
            // RFC 9112 §2.2: at least one empty line before the request line is ignored; here one.
            stage = .requestLine
            return nil
        case .start, .requestLine:
            let targetBytes = limits.targetBytes
            if let error = head.line.parse(line, of: bytes, targetBytes: targetBytes) {
                return error
            }
            stage = .fields
            head.fields = lineStart..<lineStart
            return nil
        case .fields where line.isEmpty:
            head.fields = head.fields.lowerBound..<line.lowerBound
            return endHead(bodyStart: lineStart, of: bytes)
        case .fields:
            fieldCount += 1
            // RFC 6585 §5
            guard Int(fieldCount) <= limits.fieldCount else { return .headTooLarge }
            guard let field = FieldLine(checking: bytes, line) else { return .malformed }
            return framing.add(field, of: bytes, authority: head.line.authority)
        case .body:
            preconditionFailure("a body has no lines")
        }
    }

    private mutating func endHead(bodyStart: Int, of bytes: Span<UInt8>) -> RequestError? {
        let limit = limits.bodyBytes(of: head.line.method, bytes.extracting(head.line.path))
        switch framing.bodyLength(of: head.line, limit: limit) {
        case .failure(let error): return error
        case .success(let length):
            head.body = bodyStart..<(bodyStart + length)
            head.isLarge = length > limits.bodyBytes
            // RFC 9110 §10.1.1: ignored without a body and in HTTP/1.0.
            head.expectsContinue =
                framing.expectsContinue && length > 0 && !head.line.isVersion10
            // RFC 9112 §9.3: HTTP/1.0 ends after one request; here without exception.
            head.closes = framing.closes || head.line.isVersion10
            stage = .body
            return nil
        }
    }
}
