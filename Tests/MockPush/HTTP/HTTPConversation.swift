import WakePush

/// One protocol on a connection.
protocol Speech: AnyObject {
    var openStreams: Int { get }
    /// See `Conversation`.
    func nextDue(room: Int) -> UInt64?
    /// Takes what it can of `count` bytes.
    /// - Returns: how many are done with.
    func take(_ bytes: Span<UInt8>, count: Int, _ line: Conversation) -> Int
    /// Writes what is due.
    func flush(_ line: Conversation)
}

/// A connection whose first bytes tell which HTTP it is (RFC 9113 §3.4).
final class HTTPConversation: Conversation {
    /// Output beyond which nothing is added: memory stays bounded whoever does not read.
    static let outputLimit = 131_072

    private let service: HTTPService
    /// What every request here has in common.
    private var blank = HTTPRequest()
    private var speech: (any Speech)?

    init(_ service: HTTPService, place: Int) {
        self.service = service
        super.init()
        service.tally.connections += 1
        blank.place = place
        blank.connection = service.tally.connections
        blank.isSecure = service.places[place].identity != nil
    }

    override var openStreams: Int { speech?.openStreams ?? 0 }

    override var nextDue: UInt64? {
        let room = Self.outputLimit - output.count
        return room > 0 ? speech?.nextDue(room: room) : nil
    }

    override func receive(_ count: Int) {
        if state == .ended { return }
        filled += count
        // Taken out while it is looked at, so that it need not be copied.
        var bytes: [UInt8] = []
        swap(&bytes, &input)
        if speech == nil { speech = choose(bytes) }
        if let speech {
            let done = speech.take(bytes.span, count: filled, self)
            Bytes.moveToFront(&bytes, done..<filled)
            filled -= done
            if filled == bytes.count { fail("head") }
        }
        swap(&bytes, &input)
    }

    override func wake() {
        if case .silent(let until) = state {
            guard clock.microseconds >= until else { return }
            state = .open
            receive(0)
        }
        guard state != .ended, let speech else { return }
        speech.flush(self)
        // What came while an answer was due has waited.
        if filled > 0, speech.openStreams == 0, isReading { receive(0) }
    }

    func fail(_ what: String) {
        service.tally.violations[what, default: 0] += 1
        state = .ended
    }

    private func choose(_ bytes: [UInt8]) -> (any Speech)? {
        let preface = FrameWriter.preface
        let count = min(filled, preface.count)
        guard bytes[..<count].elementsEqual(preface[..<count]) else {
            return HTTP1Speech(service, blank)
        }
        if filled < preface.count { return nil }
        return HTTP2Speech(service, blank, self)
    }
}
