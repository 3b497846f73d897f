import WakeSystem

/// The receiving half of a connection: bytes in, a PROXY header and requests out, one at a time.
/// Incomplete and pipelined requests are kept as bytes, which are wiped when they are consumed.
struct RequestReader {
    enum Step {
        /// - Parameter sendsContinue: the client waits for 100 before it sends the body.
        case needMore(sendsContinue: Bool)
        /// A PROXY header; requests follow.
        case proxied(PeerAddress)
        /// The head of a request that needs a permit for its body.
        case largeBody(Request)
        case request(Request)
        case invalid(RequestError)
        case invalidProxyHeader
    }

    private(set) var awaitsProxyHeader: Bool
    private var parser: RequestParser
    /// For the large body of the current request.
    private var permit: BodyMemoryPermits.Permit?
    private var sentContinue = false
    private var pending: [UInt8] = []
    /// First byte of `pending` that is not consumed; not 0 only while `hasUnparsed`.
    private var start = 0
    /// Whether `next` can find more in the kept bytes.
    private(set) var hasUnparsed = false

    /// Spare room for a body that is kept, so that the end of the socket's data fits.
    private static let slack = 16_384

    init(limits: RequestLimits, awaitsProxyHeader: Bool) {
        parser = RequestParser(limits: limits)
        self.awaitsProxyHeader = awaitsProxyHeader
    }

    var isEmpty: Bool { pending.isEmpty }

    /// The method of the current request, as far as it is known.
    var method: Method { parser.head.line.method }

    /// Bytes in the body of the current request; nil before its head is complete.
    var bodyCount: Int? { parser.stage == .body ? parser.head.body.count : nil }

    /// Takes bytes of the socket. Everything kept before must have been parsed.
    mutating func read(_ bytes: Span<UInt8>) -> Step {
        guard pending.isEmpty else {
            pending.appendWiping(bytes)
            return next()
        }
        // A whole request is parsed where it was read.
        let (step, consumed) = parse(bytes)
        guard consumed < bytes.count else { return step }
        keep(bytes.extracting(consumed..<bytes.count))
        if case .needMore = step { hasUnparsed = false } else { hasUnparsed = true }
        return step
    }

    /// Goes on with the kept bytes.
    mutating func next() -> Step {
        var bytes = pending
        pending = []
        let (step, consumed) = parse(bytes.span.extracting(start..<bytes.count))
        start += consumed
        if case .needMore = step { hasUnparsed = false } else { hasUnparsed = start < bytes.count }
        guard start > 0, !hasUnparsed else {
            pending = bytes
            return step
        }
        if start < bytes.count { keep(bytes.span.extracting(start..<bytes.count)) }
        bytes.wipe()
        start = 0
        return step
    }

    mutating func admitBody(_ permit: BodyMemoryPermits.Permit) { self.permit = permit }

    /// Wipes what is kept; nothing more is read.
    mutating func discard() {
        pending.wipe()
        pending = []
        start = 0
        hasUnparsed = false
        permit = nil
    }

    private mutating func keep(_ bytes: Span<UInt8>) {
        if parser.stage == .body {
            // Room for all of it: growing step by step would copy a large body again and again.
            pending.reserveCapacity(parser.head.body.upperBound + RequestReader.slack)
        }
        pending.append(span: bytes)
    }

    /// - Returns: also the number of bytes consumed.
    private mutating func parse(_ bytes: Span<UInt8>) -> (Step, Int) {
        if awaitsProxyHeader {
            switch ProxyHeader.parse(bytes) {
            case .needMore: return (.needMore(sendsContinue: false), 0)
            case .invalid: return (.invalidProxyHeader, bytes.count)
            case .complete(let address, let consumed):
                awaitsProxyHeader = false
                return (.proxied(address), consumed)
            }
        }
        let step = parser.advance(over: bytes)
        if parser.stage == .body, parser.head.isLarge, permit == nil {
            let head = bytes.extracting(0..<parser.head.body.lowerBound)
            let request = Request(bytes: Array(copying: head), head: parser.head.withoutBody)
            return (.largeBody(request), 0)
        }
        switch step {
        case .needMore:
            // RFC 9110 §10.1.1: a client that has begun to send does not wait.
            let sendsContinue =
                parser.stage == .body && parser.head.expectsContinue && !sentContinue
                && bytes.count == parser.head.body.lowerBound
            if sendsContinue { sentContinue = true }
            return (.needMore(sendsContinue: sendsContinue), 0)
        case .invalid(let error):
            return (.invalid(error), bytes.count)
        case .complete(let consumed):
            let request = Request(
                bytes: Array(copying: bytes.extracting(0..<consumed)), head: parser.head,
                permit: permit.take())
            parser = RequestParser(limits: parser.limits)
            sentContinue = false
            return (.request(request), consumed)
        }
    }
}
