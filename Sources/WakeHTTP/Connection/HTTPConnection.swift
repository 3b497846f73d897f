import WakeSystem

/// One HTTP/1.1 connection as a value without I/O (RFC 9112); an idle one holds no buffer.
///
/// A call appends bytes to the context's output and returns at most one action. The caller carries
/// it out and calls `advance` until there is none, then sends the output and reports `written` or
/// `blocked`. The handler has one request at a time; pipelined ones wait as bytes.
package struct HTTPConnection {
    package enum Action {
        case none
        /// A PROXY header named the client: `identify`, or `reject` at a cap.
        case identify(PeerAddress)
        /// The head of a request with a large body: `admitBody` or `reject`.
        case screen(Request)
        /// A complete request; `offer` takes the answer under the same number.
        case handle(Request, sequence: UInt32)
        /// Admission to an event stream: `subscribed` or `reject`.
        indirect case subscribe(StreamHub, head: Response, first: [UInt8])
        /// To be sent behind the output.
        case sendFile(FileBody)
        /// Our side of the socket ends; what the client still sends goes to `receive`.
        case endSending
        /// The socket closes; nothing may be called any more. `isDropped`: the client was too slow;
        /// `hub`: the connection was subscribed to it.
        case close(isDropped: Bool, hub: StreamHub?)
    }

    /// A handler's answer to a request.
    package enum Answer: Sendable {
        case response(Response)
        indirect case stream(StreamHub, head: Response, first: [UInt8])
        indirect case chunks(StreamedResponse, head: Response)

        /// It will not be sent.
        func abandon() {
            if case .chunks(let response, _) = self { response.abandon() }
        }
    }

    private enum Phase {
        /// The next request, or the rest of one, is awaited.
        case reading
        case answering
        /// An event stream: nothing more is read.
        case streaming(StreamHub)
        /// A response in chunks; requests wait until it is complete.
        case chunked(StreamedResponse)
        /// The last response is being written.
        case ending
        /// Our side has ended; the client may read in peace.
        case lingering
        case closed
    }

    private var phase = Phase.reading
    private var reader: RequestReader
    /// The number of the request that is with the handler; answers to earlier ones are stale.
    private var sequence: UInt32 = 0
    /// Bytes discarded while lingering.
    private var discardedBytes: UInt32 = 0
    private var answer: Answer?
    private var isHead = false
    private var isVersion10 = false
    private var closesAfterAnswer = false
    /// Bytes of requests were discarded: closing at once would make the kernel send a reset.
    private var lingers = false
    private(set) var hasPeerEnded = false
    /// Output is waiting for the socket.
    private(set) var isBlocked = false
    private var timer = ConnectionTimer()

    /// Bytes discarded at most while the client reads the last response.
    private static let discardLimit: UInt32 = 1 << 20

    init(limits: RequestLimits, awaitsProxyHeader: Bool) {
        reader = RequestReader(limits: limits, awaitsProxyHeader: awaitsProxyHeader)
    }

    /// One without a PROXY header, with the default limits.
    package init() { self.init(limits: RequestLimits(), awaitsProxyHeader: false) }

    var isReading: Bool { if case .reading = phase { true } else { false } }

    var isStreaming: Bool { if case .streaming = phase { true } else { false } }

    /// What the connection can do without an event, and until when it waits for one.
    struct Readiness {
        let canReceive: Bool
        let canAdvance: Bool
        /// The time to call `expire`, in nanoseconds.
        let deadline: UInt64
    }

    var readiness: Readiness {
        var canReceive = false
        var canAdvance = !isBlocked && answer != nil
        switch phase {
        case .reading:
            canReceive = !isBlocked && !reader.hasUnparsed
            canAdvance = canAdvance || !isBlocked && reader.hasUnparsed
        case .lingering: canReceive = true
        default: break
        }
        return Readiness(
            canReceive: canReceive, canAdvance: canAdvance, deadline: timer.deadline)
    }

    /// Since when this connection waits for its client; nil while the server works for it, and for
    /// streams and responses in chunks, which have bounds of their own.
    var waitsSince: UInt64? {
        switch timer.purpose {
        case .idle, .head, .body, .write, .linger: timer.since
        case .none, .answer, .pause, .stream: nil
        }
    }

    // MARK: Input

    /// Takes bytes that the client sent; only when `readiness` says so.
    package mutating func receive(_ bytes: Span<UInt8>, _ context: ConnectionContext) -> Action {
        if case .lingering = phase {
            discardedBytes += UInt32(bytes.count)
            return discardedBytes > HTTPConnection.discardLimit ? close() : .none
        }
        return perform(reader.read(bytes), context)
    }

    /// The client has ended its side and everything it sent was received. The response to a
    /// complete request is still sent: RFC 9112 §9.6 lets either side end its half first.
    mutating func receiveEnd(_ context: ConnectionContext) -> Action {
        guard !context.output.isEmpty else { return close() }
        reader.discard()
        phase = .ending
        return .none
    }

    /// The client has ended its side, perhaps with bytes unread; `isBroken`: nor does it read.
    mutating func peerEnded(isBroken: Bool) -> Action {
        hasPeerEnded = true
        switch phase {
        case .streaming, .chunked:
            // RFC 9112 §9.6: it may go on reading, but cannot be told from one that has left.
            return close()
        default:
            return isBroken && isBlocked ? close() : .none
        }
    }

    /// Goes on with what waits here: an answer, chunks, pipelined requests.
    package mutating func advance(_ context: ConnectionContext) -> Action {
        guard !isBlocked else { return .none }
        if case .answering = phase, let answer = answer.take() {
            let action = write(answer, context)
            guard case .none = action else { return action }
        }
        if case .chunked(let response) = phase { writeChunks(of: response, context) }
        guard isReading, reader.hasUnparsed else { return .none }
        return perform(reader.next(), context)
    }

    private mutating func perform(
        _ step: RequestReader.Step, _ context: ConnectionContext
    ) -> Action {
        switch step {
        case .needMore(let sendsContinue):
            if sendsContinue { context.append(text: "HTTP/1.1 100 Continue\r\n\r\n") }
            return .none
        case .proxied(let address):
            timer.stop()
            return .identify(address)
        case .largeBody(let head):
            return .screen(head)
        case .request(let request):
            sequence &+= 1
            phase = .answering
            timer.stop()
            isHead = request.method == .head
            isVersion10 = request.isVersion10
            closesAfterAnswer = request.closes
            return .handle(request, sequence: sequence)
        case .invalid(let error):
            return reject(error, context)
        case .invalidProxyHeader:
            // PROXY protocol §2: the header is mandatory. No response: the protocol is unknown.
            context.counters.refusedByClientError.add()
            return close()
        }
    }

    mutating func admitBody(_ permit: BodyMemoryPermits.Permit) { reader.admitBody(permit) }

    // MARK: Answers

    /// Takes an answer for `advance` to send; false, and abandoned, when it is late or the second.
    package mutating func offer(_ answer: Answer, sequence: UInt32) -> Bool {
        guard case .answering = phase, self.sequence == sequence, self.answer == nil else {
            answer.abandon()
            return false
        }
        self.answer = answer
        return true
    }

    /// Whether the response in chunks to a request is being sent.
    func isChunked(_ sequence: UInt32) -> Bool {
        if case .chunked = phase { self.sequence == sequence } else { false }
    }

    private mutating func write(_ answer: Answer, _ context: ConnectionContext) -> Action {
        switch answer {
        case .response(let response):
            return write(response, context)
        case .stream(let hub, let head, let first):
            if context.isDraining { return reject(.overloaded, context) }
            if isHead { return write(head.closing(), context) }
            return .subscribe(hub, head: head, first: first)
        case .chunks(let response, let head):
            // Nothing would show that such a client is gone; it may also have left already.
            guard !hasPeerEnded else {
                response.abandon()
                return close()
            }
            if isHead {
                response.abandon()
                return write(head.closing(), context)
            }
            closesAfterAnswer = head.closes || closesAfterAnswer || context.isDraining
            // RFC 9112 §6.1, §6.3: HTTP/1.0 has no chunks; content ends with the connection.
            context.appendHead(
                of: head, isVersion10 ? .endOfConnection : .lastChunk, closes: closesAfterAnswer)
            phase = .chunked(response)
            timer.stop()
            return .none
        }
    }

    private mutating func write(
        _ response: Response, _ context: ConnectionContext
    ) -> Action {
        let closes = response.closes || closesAfterAnswer || context.isDraining
        let end = response.contentLength.map { ConnectionContext.ContentEnd.length($0) } ?? .none
        context.appendHead(of: response, end, closes: closes)
        endResponse(closes: closes)
        // RFC 9110 §9.3.2: HEAD has the fields of GET, and no content.
        guard !isHead else { return .none }
        switch response.body {
        case .bytes(let bytes): context.append(bytes)
        case .file(let file) where file.count > 0: return .sendFile(file)
        case .none, .file: break
        }
        return .none
    }

    mutating func subscribed(
        to hub: StreamHub, head: Response, first: [UInt8], _ context: ConnectionContext
    ) {
        // RFC 9112 §6.3: without a length the content ends with the connection.
        context.appendHead(of: head, .endOfConnection, closes: true)
        context.append(first)
        phase = .streaming(hub)
        reader.discard()
    }

    /// Appends the waiting bytes as one chunk; while the socket is full the response keeps them.
    private mutating func writeChunks(
        of response: StreamedResponse, _ context: ConnectionContext
    ) {
        let (bytes, end) = response.take()
        if !bytes.isEmpty {
            if isVersion10 { context.append(bytes) } else { context.appendChunk(bytes) }
            // The next pause begins.
            timer.stop()
        }
        guard let end else { return }
        // RFC 9112 §8: chunks without a last one are an incomplete message.
        let isComplete = end == .complete
        if isComplete, !isVersion10 { context.append(text: "0\r\n\r\n") }
        endResponse(closes: !isComplete || closesAfterAnswer || context.isDraining)
    }

    private mutating func endResponse(closes: Bool) {
        timer.stop()
        guard closes else { return phase = .reading }
        phase = .ending
        if !reader.isEmpty { lingers = true }
        reader.discard()
    }

    /// Answers with the server's own response and ends the connection.
    mutating func reject(_ error: RequestError, _ context: ConnectionContext) -> Action {
        let seconds = context.limits.retryAfterSeconds
        return reject(with: error.response(retryAfterSeconds: seconds), context)
    }

    mutating func reject(
        with response: Response, _ context: ConnectionContext
    ) -> Action {
        context.counters.countRejection(status: response.status)
        // RFC 9110 §9.3.2, as far as the method is known.
        if isReading { isHead = reader.method == .head }
        answer.take()?.abandon()
        lingers = true
        return write(response.closing(), context)
    }

    // MARK: The socket and the time

    /// The socket has taken everything; `hasUnread`: it may hold bytes not received yet.
    package mutating func written(hasUnread: Bool, _ context: ConnectionContext) -> Action {
        isBlocked = false
        if timer.purpose == .write { timer.stop() }
        switch phase {
        case .reading:
            if !reader.isEmpty {
                let bodyBytes = reader.bodyCount
                timer.start(
                    bodyBytes == nil ? .head : .body, bodyBytes: bodyBytes ?? 0, context)
            } else if context.isDraining, !hasUnread {
                // RFC 9112 §9.5: an idle connection closes without a response.
                return close()
            } else {
                timer.start(.idle, context)
            }
        case .answering: timer.start(.answer, context)
        case .chunked: timer.start(.pause, context)
        case .streaming: timer.start(.stream, context)
        case .ending:
            guard lingers || hasUnread else { return close() }
            // RFC 9112 §9.6: closing with unread bytes makes the kernel send a reset, which can
            // destroy the response. So only our side ends, and the rest is read and discarded.
            phase = .lingering
            timer.start(.linger, context)
            return .endSending
        case .lingering, .closed: break
        }
        return .none
    }

    /// The socket has taken only `count` bytes; nothing more is parsed until `written`.
    mutating func blocked(after count: Int, _ context: ConnectionContext) -> Action {
        // Subscribers are never buffered.
        if case .streaming = phase { return close(isDropped: true) }
        isBlocked = true
        timer.wrote(count, context)
        return .none
    }

    /// The deadline has come.
    mutating func expire(_ context: ConnectionContext) -> Action {
        let (expired, isFast) = (timer.purpose, timer.isWriteFast(context.limits))
        timer.stop()
        switch expired {
        case .none: return .none
        case .idle, .linger: return close()
        case .head, .body:
            // A proxy that named no client expects no HTTP either.
            if reader.awaitsProxyHeader { return close() }
            return reject(.timeout, context)  // RFC 9110 §15.5.9
        case .answer: return reject(.answerOverdue, context)
        case .pause: return close(isDropped: true)
        case .write:
            guard isFast else {
                return close(isDropped: true)
            }
            timer.start(.write, context)
        case .stream:
            if case .streaming(let hub) = phase { context.append(hub.keepAlive) }
        }
        return .none
    }

    /// The server stops: streams end. The others end with their next response, or once idle.
    mutating func drain() -> Action { isStreaming ? close() : .none }

    /// The connection ends without a response.
    mutating func close(isDropped: Bool = false) -> Action {
        var hub: StreamHub?
        switch phase {
        case .streaming(let subscribed): hub = subscribed
        case .chunked(let response): response.abandon()
        default: break
        }
        answer.take()?.abandon()
        reader.discard()
        phase = .closed
        timer.stop()
        return .close(isDropped: isDropped, hub: hub)
    }
}
