/// One answer: a head, and a body that may come late, or never to its end.
struct HTTPAnswer {
    var status: Int
    var fields: [(name: String, value: String)] = []
    /// Milliseconds until the head.
    var delay = 0
    var body: [UInt8] = []
    /// The body again and again, for as long as the client reads.
    var isEndless = false
    /// A request in flight until the answer has left.
    var lease: InFlightLease?

    init(_ status: Int, _ fields: [(String, String)] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields.map { (name: $0.0, value: $0.1) }
        self.body = body
    }

    static func json(_ status: Int, _ text: String, retryAfter: Int? = nil) -> HTTPAnswer {
        var answer = HTTPAnswer(
            status, [("content-type", "application/json; charset=UTF-8")], body: Array(text.utf8))
        if let retryAfter { answer.fields.append(("retry-after", "\(retryAfter)")) }
        return answer
    }
}

/// The reaction to a request.
enum Reaction {
    case answer(HTTPAnswer)
    /// RST_STREAM; by HTTP/1.1 the connection ends.
    case reset(code: UInt32)
    case goAway
    /// No answer ever comes.
    case hang(InFlightLease?)
    case garbage
}

/// The progress of an answer.
struct OutgoingAnswer {
    let answer: HTTPAnswer
    /// When the head may leave, microseconds.
    let due: UInt64
    var isHeadSent = false
    private var offset = 0

    init(_ answer: HTTPAnswer, latency: Int, now: UInt64) {
        self.answer = answer
        let delay = UInt64(answer.delay + latency) * 1000
        // Together with others, four times a millisecond, and never too soon.
        due = delay == 0 ? now : (now + delay + 249) / 250 * 250
    }

    var isWhole: Bool { isHeadSent && !answer.isEndless && offset == answer.body.count }

    /// The next bytes of the body, at most `room`.
    mutating func bytes(room: Int) -> ArraySlice<UInt8> {
        if answer.isEndless, offset == answer.body.count { offset = 0 }
        let part = answer.body[offset...].prefix(max(0, room))
        offset += part.count
        return part
    }
}

/// A number of requests in flight, and its maximum.
final class InFlightCounter {
    fileprivate(set) var count = 0 { didSet { most = max(most, count) } }
    private(set) var most = 0
}

/// One request in flight, for as long as it is held.
final class InFlightLease {
    private let counter: InFlightCounter

    init(_ counter: InFlightCounter) {
        self.counter = counter
        counter.count += 1
    }

    deinit { counter.count -= 1 }
}
