/// The state of one accepted connection. It belongs to the `Reactor`, whose extensions are its
/// verbs; nobody else sees it, so it is not an actor of its own. An idle one holds no buffer.
final class Connection {
    enum Phase {
        /// The PROXY header is awaited.
        case proxy
        /// The next request, or the rest of one, is awaited.
        case reading
        /// A handler has the request.
        case answering
        /// An event stream: nothing more is read.
        case streaming(StreamHub)
        /// An answer that comes in pieces; requests wait until it is complete.
        case piecewise(StreamedAnswer)
        /// The last answer is being written.
        case ending
        /// Our side has ended; the far end may read in peace.
        case lingering
        case closed
    }

    /// What the connection's deadline is for.
    enum Timing { case none, idle, head, body, answer, write, pause, stream, linger }

    /// A response to come from the handler.
    enum Answer: Sendable {
        case response(Response)
        case stream(StreamHub, head: Response, first: [UInt8])
        case pieces(StreamedAnswer, head: Response)

        /// It will not be sent.
        func lose() {
            if case .pieces(let answer, _) = self { answer.lose() }
        }
    }

    /// A file body on its way.
    struct Sending {
        let file: OpenFile
        var offset: Int64
        var remaining: Int64
    }

    let id: ConnectionID
    let descriptor: Descriptor
    let listener: Int
    var source: SourceTag?
    var phase: Phase
    var timing = Timing.none
    var parser: RequestParser

    // Reading
    /// Edge-triggered epoll said so and no read has come back short since.
    var isReadable = false
    /// The far end has closed its side: after the last byte there is an end of file to read.
    var peerEnded = false
    /// Bytes of requests not yet complete or not yet looked at.
    var pending: [UInt8] = []
    /// Whether the parser has not seen all of `pending`.
    var hasUnparsed = false
    /// For the large body of the request in work.
    var place: LargeBodyPlaces.Place?
    /// Bytes thrown away while lingering.
    var discarded = 0

    // Answering
    /// Which request of this connection is with the handler; answers to earlier ones are stale.
    var sequence: UInt32 = 0
    var answer: Answer?
    var isInHandler = false
    var isHead = false
    /// RFC 9112 §2.3: the request was HTTP/1.0.
    var isVersion10 = false
    var closesAfterAnswer = false
    var sentContinue = false

    // Writing
    var unsent: [UInt8] = []
    var unsentStart = 0
    var file: Sending?
    /// Stopped writing to let others have their turn, not because the socket was full.
    var yielded = false
    /// Bytes taken by the far end since the write deadline was set.
    var writtenInSpan = 0
    /// Unread bytes may be waiting: closing at once would make the kernel reset what we just wrote.
    var lingers = false

    /// Whether it waits in the ready list.
    var isQueued = false

    init(
        id: ConnectionID, descriptor: consuming Descriptor, listener: Int, phase: Phase,
        parser: RequestParser
    ) {
        self.id = id
        self.descriptor = descriptor
        self.listener = listener
        self.phase = phase
        self.parser = parser
    }

    var isBlocked: Bool { !unsent.isEmpty || file != nil }

    /// Whether bytes not yet looked at may still become requests.
    var isOpenForRequests: Bool {
        switch phase {
        case .proxy, .reading, .answering, .piecewise: true
        default: false
        }
    }

    var isReading: Bool {
        switch phase {
        case .proxy, .reading: true
        default: false
        }
    }
}
