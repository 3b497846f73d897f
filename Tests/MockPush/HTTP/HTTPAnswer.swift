/// One answer: a head, and a body that may come in parts, late, or never to its end.
struct HTTPAnswer {
    struct Part {
        /// Milliseconds after the part before.
        var after = 0
        var bytes: [UInt8]
    }

    enum End {
        case whole
        /// The connection (HTTP/1.1) or stream breaks off.
        case cut
        /// The last part again and again, for as long as anybody reads.
        case endless
    }

    var status: Int
    var fields: [(name: String, value: String)] = []
    /// Milliseconds until the head.
    var delay = 0
    var parts: [Part] = []
    var end = End.whole
    /// HTTP/1.1 sends it chunked, whatever it is.
    var isStreamed = false

    init(_ status: Int, _ fields: [(String, String)] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields.map { (name: $0.0, value: $0.1) }
        if !body.isEmpty { parts = [Part(bytes: body)] }
    }

    static func json(_ status: Int, _ text: String) -> HTTPAnswer {
        HTTPAnswer(
            status, [("content-type", "application/json; charset=UTF-8")], body: Array(text.utf8))
    }

    var hasBody: Bool { !parts.isEmpty || end != .whole }
}

/// The reaction to a request.
enum Reaction {
    case answer(HTTPAnswer, InFlightLease?)
    /// RST_STREAM; by HTTP/1.1 the connection ends.
    case reset(code: UInt32)
    case goAway
    /// No answer ever comes.
    case hang(InFlightLease?)
    /// The whole connection falls silent for so many seconds.
    case stall(seconds: Int)
    case garbage
    /// The connection ends.
    case close
}
