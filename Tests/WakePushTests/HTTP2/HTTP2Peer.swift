@testable import WakePush

/// The far end of a connection, by hand: reads what the connection sent, writes what a server
/// might.
struct HTTP2Peer {
    struct Request: Equatable {
        var fields: [String]
        var body: [UInt8]
        var isComplete: Bool
    }

    var connection: PushConnection
    var now: UInt64 = 1000
    /// Everything the connection wrote since `read` was last called, as frames.
    private(set) var frames: [Frame] = []
    private(set) var requests: [UInt32: Request] = [:]
    var decoder = HPACKDecoder()
    private var hasPreface = false

    static let shape = RequestTemplate(
        authority: "push.example", path: "/3/device/",
        fields: [.init("apns-topic", "org.example.app"), .init("apns-priority", "5")],
        authorization: Array("bearer abc".utf8), body: Array("{\"aps\":{}}".utf8))

    init(
        _ shape: RequestTemplate = Self.shape, limits: ConnectionLimits = ConnectionLimits(),
        firstStream: UInt32 = 1, settings: [(id: UInt16, value: UInt32)]? = [],
        wallSeconds: Int64 = 0
    ) {
        connection = PushConnection(
            shape, limits: limits, firstStream: firstStream, wallSeconds: wallSeconds, now: 1000)
        if let settings { write { FrameWriter.settings(settings, into: &$0) } }
        read()
    }

    mutating func write(_ frames: (inout [UInt8]) -> Void) {
        var bytes: [UInt8] = []
        frames(&bytes)
        connection.receive(bytes, count: bytes.count, now: now)
    }

    /// Takes what the connection wrote.
    mutating func read() {
        let (bytes, offset) = connection.outputBytes
        var rest = Array(bytes[offset...])
        connection.didSend(rest.count)
        if !hasPreface {
            precondition(rest.starts(with: FrameWriter.preface), "a client begins with its preface")
            rest.removeFirst(FrameWriter.preface.count)
            hasPreface = true
        }
        frames = []
        var position = 0
        while case .complete(let frame, let end) = FrameReader.read(rest.span, at: position) {
            position = end
            frames.append(frame)
            note(frame, rest)
        }
        precondition(position == rest.count, "a connection writes whole frames")
    }

    private mutating func note(_ frame: Frame, _ bytes: [UInt8]) {
        if case .headers(let stream, let fragment, _, let ends) = frame {
            var list = HeaderList()
            do {
                try decoder.decode(bytes.span.extracting(fragment), into: &list)
            } catch {
                preconditionFailure("a block that does not decode")
            }
            requests[stream] = Request(fields: lines(list), body: [], isComplete: ends)
        }
        if case .data(let stream, let body, _, let ends) = frame {
            requests[stream]?.body += bytes[body]
            requests[stream]?.isComplete = ends
        }
    }

    mutating func push(_ reference: UInt64, _ token: String = "aa") {
        connection.push(reference, token: Array(token.utf8).span)
        read()
    }

    /// Pushes while there is room; references are consecutive.
    mutating func fill(from reference: UInt64, atMost limit: Int = .max) -> Int {
        var count = 0
        while connection.room > 0, count < limit {
            push(reference + UInt64(count))
            count += 1
        }
        return count
    }

    mutating func answer(
        _ stream: UInt32, _ status: String = "200", fields: [(String, String)] = [],
        body: String = ""
    ) {
        var block: [UInt8] = []
        HPACKWriter.literalOrIndex(":status", status, into: &block)
        for field in fields { HPACKWriter.literalOrIndex(field.0, field.1, into: &block) }
        write {
            FrameWriter.headers(stream: stream, block: block, ends: body.isEmpty, into: &$0)
            if !body.isEmpty {
                FrameWriter.data(
                    stream: stream, body: Array(body.utf8)[...], ends: true, into: &$0)
            }
        }
        read()
    }

    /// A connection past its first answer.
    static func proven(
        limits: ConnectionLimits = ConnectionLimits(),
        settings: [(id: UInt16, value: UInt32)] = [], wallSeconds: Int64 = 0
    ) -> HTTP2Peer {
        var peer = HTTP2Peer(limits: limits, settings: settings, wallSeconds: wallSeconds)
        peer.push(0)
        peer.answer(1)
        _ = peer.take()
        return peer
    }

    mutating func take() -> [PushResult] { takeAll().results }

    mutating func takeAll() -> PushOutcomes {
        var all = PushOutcomes()
        connection.takeOutcomes(into: &all)
        return all
    }

    var errorCode: UInt32? {
        if case .violation(let code) = connection.end { return code }
        return nil
    }
}

func answered(_ status: UInt16) -> PushOutcome {
    .answered(status: status, retryAfter: 0, body: .empty)
}
