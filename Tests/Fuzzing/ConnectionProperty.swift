import TestSupport
import WakeSystem

@testable import WakeHTTP

/// An HTTP connection of ours: it does not matter how bytes come and go or when answers are given,
/// every request has one response, and nothing but good responses is written.
enum ConnectionProperty {
    /// - Parameter input: options, a byte that says how bytes are cut, and what a client sends.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        guard input.count > 2 else { return false }
        let wire = Array(input[2...])
        let options = Options(rawValue: input[0])
        let whole = try play(wire, options, cuts: nil)
        let cut = try play(wire, options, cuts: UInt64(input[1]))
        try require(whole.requests == cut.requests, "requests depend on cuts")
        try require(whole.end == cut.end, "the end depends on cuts")
        // RFC 9110 §10.1.1: 100 is for a client that waits, so it depends on cuts.
        let responses = withoutContinue(whole.written)
        try require(responses == withoutContinue(cut.written), "responses depend on cuts")
        try checkResponses(responses, whole)
        return !whole.requests.isEmpty
    }

    struct Options: OptionSet {
        let rawValue: UInt8

        static let proxied = Options(rawValue: 1)
        /// Answers come after everything was sent; in the cut play, where cuts decide.
        static let answersLater = Options(rawValue: 2)
        /// The time runs out, else the client ends its side.
        static let expires = Options(rawValue: 4)
        static let refusesLargeBodies = Options(rawValue: 8)
    }

    struct Played: Equatable {
        var requests: [[UInt8]] = []
        /// Of these, requests that are answered without content.
        var heads = 0
        var written: [UInt8] = []
        var end = "open"
    }

    private static func play(
        _ wire: [UInt8], _ options: Options, cuts: UInt64?
    ) throws(Violation) -> Played {
        var player = ConnectionPlayer(options, cuts: cuts)
        var rest = wire[...]
        while !rest.isEmpty {
            let piece = rest.prefix(player.size(of: rest.count))
            rest = rest.dropFirst(piece.count)
            try player.send(piece)
        }
        return try player.finish()
    }

    private static func withoutContinue(_ bytes: [UInt8]) -> [UInt8] {
        let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
        var kept: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index...].starts(with: interim) {
                index += interim.count
            } else {
                kept.append(bytes[index])
                index += 1
            }
        }
        return kept
    }

    /// Reads the responses as a client does; a rejection by the server is the last.
    private static func checkResponses(_ bytes: [UInt8], _ played: Played) throws(Violation) {
        var position = 0
        var answers = 0
        var rejections = 0
        while position < bytes.count {
            try require(rejections == 0, "a response behind a rejection")
            var lines: [[UInt8]] = []
            while true {
                guard let end = bytes[position...].firstIndex(of: 0x0D), end + 1 < bytes.count,
                    bytes[end + 1] == 0x0A
                else { throw Violation("half a response") }
                lines.append(Array(bytes[position..<end]))
                position = end + 2
                if lines.last?.isEmpty == true { break }
            }
            let isAnswer = lines[0].elementsEqual("HTTP/1.1 200 OK".utf8)
            let status = String(decoding: lines[0], as: UTF8.self)
            try require(
                isAnswer || status.hasPrefix("HTTP/1.1 4") || status.hasPrefix("HTTP/1.1 5"),
                "a status that is not ours")
            let marker = Array("Content-Length: ".utf8)
            let lengths = lines.filter { $0.starts(with: marker) }
            try require(lengths.count == 1, "not one length")
            let text = String(decoding: lengths[0].dropFirst(marker.count), as: UTF8.self)
            guard let length = Int(text) else { throw Violation("a length that is no number") }
            // What answers HEAD has a length and no content.
            let content = bytes[position...].prefix(length)
            let hasContent = !content.starts(with: "HTTP/1.1".utf8) && content.count == length
            let maySayHead = played.heads > 0 || !isAnswer || length == 0
            try require(hasContent || maySayHead, "content that is short")
            if hasContent { position += length }
            if isAnswer { answers += 1 } else { rejections += 1 }
        }
        try require(answers == played.requests.count, "not one response for each request")
    }
}

/// Plays the socket and the handler of an `HTTPConnection`.
private struct ConnectionPlayer {
    private let options: ConnectionProperty.Options
    private var random: SplitMix64?
    private var http: HTTPConnection
    private let context: ConnectionContext
    private let permits = BodyMemoryPermits(1)
    private var played = ConnectionProperty.Played()
    private var unread: [UInt8] = []
    private var unsent: [UInt8] = []
    private var waiting: (request: [UInt8], sequence: UInt32)?
    private var isClosed = false
    private var isEnding = false
    private var steps = 0

    init(_ options: ConnectionProperty.Options, cuts: UInt64?) {
        self.options = options
        random = cuts.map { SplitMix64(seed: $0) }
        http = HTTPConnection(
            limits: RequestProperty.limits, awaitsProxyHeader: options.contains(.proxied))
        context = ConnectionContext(limits: HTTPLimits(), counters: HTTPCounters()) { 0 }
        context.setTime(1_000_000_000, wallSeconds: 784_111_777)
    }

    mutating func size(of count: Int) -> Int {
        guard random != nil else { return count }
        return 1 + below(min(count, 50))
    }

    private mutating func below(_ count: Int) -> Int { Int((random?.next() ?? 0) % UInt64(count)) }

    mutating func send(_ bytes: ArraySlice<UInt8>) throws(Violation) {
        unread += bytes
        try settle()
        if random == nil || below(3) > 0 { try answer() }
    }

    /// Everything that waits is answered and sent, then the connection ends.
    mutating func finish() throws(Violation) -> ConnectionProperty.Played {
        random = nil
        repeat { try settle() } while try answer()
        if !isClosed {
            if options.contains(.expires) {
                context.setTime(http.readiness.deadline, wallSeconds: 784_111_777)
                perform(http.expire(context))
            } else {
                isEnding = true
                perform(http.peerEnded(isBroken: false))
            }
            try settle()
        }
        try require(unsent.isEmpty || isClosed, "bytes that are never sent")
        return played
    }

    @discardableResult
    private mutating func answer() throws(Violation) -> Bool {
        guard !isClosed, let (request, sequence) = waiting else { return false }
        waiting = nil
        try require(!http.offer(response(request), sequence: sequence &- 1), "a stale answer")
        try require(http.offer(response(request), sequence: sequence), "an answer not taken")
        try require(!http.offer(response(request), sequence: sequence), "a second answer")
        try settle()
        return true
    }

    private func response(_ request: [UInt8]) -> HTTPConnection.Answer {
        .response(Response(200, body: .bytes(Array(request.prefix(20)))))
    }

    /// Does everything that can be done now.
    private mutating func settle() throws(Violation) {
        repeat {
            steps += 1
            try require(steps < 20_000, "a connection that spins")
            if !isClosed { perform(http.advance(context)) }
            if !isClosed, http.readiness.canReceive {
                if !unread.isEmpty {
                    let bytes = unread
                    unread = []
                    perform(http.receive(bytes.span, context))
                } else if isEnding {
                    perform(http.receiveEnd(context))
                }
            }
            try flush()
        } while !isClosed && (http.readiness.canAdvance || canGoOn)
    }

    private var canGoOn: Bool {
        !unsent.isEmpty || http.readiness.canReceive && (!unread.isEmpty || isEnding)
    }

    private mutating func flush() throws(Violation) {
        guard !isClosed else { return }
        try require(context.output.count < 100_000, "output without bound")
        unsent += context.output
        context.clearOutput()
        let count = random == nil ? unsent.count : below(unsent.count + 1)
        played.written += unsent.prefix(count)
        unsent.removeFirst(count)
        perform(
            unsent.isEmpty
                ? http.written(hasUnread: !unread.isEmpty, context)
                : http.blocked(after: count, context))
    }

    private mutating func perform(_ first: HTTPConnection.Action) {
        var action = first
        while true {
            switch action {
            case .none: return
            case .identify, .subscribe, .sendFile: break
            case .screen:
                guard !options.contains(.refusesLargeBodies),
                    let permit = permits.acquire(holding: nil)
                else {
                    action = http.reject(.overloaded, context)
                    continue
                }
                http.admitBody(permit)
            case .handle(let request, let sequence):
                played.requests.append(Self.digest(request))
                if request.method == .head { played.heads += 1 }
                waiting = (Self.digest(request), sequence)
                if !options.contains(.answersLater), let (digest, sequence) = waiting {
                    waiting = nil
                    _ = http.offer(response(digest), sequence: sequence)
                }
            case .endSending: played.end = "lingering"
            case .close:
                played.end = "closed"
                isClosed = true
                context.clearOutput()
                return
            }
            action = http.advance(context)
        }
    }

    /// All that a handler sees of a request.
    private static func digest(_ request: Request) -> [UInt8] {
        Array("\(request.method) ".utf8) + request.path + [0x3F] + (request.query ?? [])
            + [0x20] + request.body
    }
}
