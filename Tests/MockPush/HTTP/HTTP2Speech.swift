import WakePush
import WakeSystem

/// HTTP/2 (RFC 9113) for requests of any kind and answers that take their time.
final class HTTP2Speech: Speech {
    private struct Stream {
        var request: HTTPRequest
        /// What the client may still send in DATA.
        var receiveWindow: Int
        /// What we may.
        var sendWindow: Int
        var isWhole = false
        var outgoing: Outgoing?
        /// Of a request that is never answered.
        var held: Ticket?
    }

    private let service: HTTPService
    /// What every request here has in common.
    private let blank: HTTPRequest
    private var position = 0
    private var hasPreface = false
    private var decoder = HPACKDecoder(limit: 4096)
    private var list = HeaderList()
    private var fragments: (stream: UInt32, block: [UInt8], ends: Bool)?
    private var streams: [UInt32: Stream] = [:]
    private var highestStream: UInt32 = 0
    private var limits = StreamLimits()
    private var credit: ConnectionCredit
    /// Of the connection, and of a new stream, for our DATA.
    private var sendWindow = 65_535
    private var firstSendWindow = 65_535
    /// Streams whose answer has not left as a whole.
    private var answering: Set<UInt32> = []

    private static let frameBytes = 16_384
    private static let window = 1 << 20

    init(_ service: HTTPService, _ blank: HTTPRequest, _ line: Conversation) {
        self.service = service
        self.blank = blank
        credit = ConnectionCredit(size: 1 << 24)
        limits.announce(streams: service.common.streams, window: Self.window)
        FrameWriter.settings(
            [(0x3, UInt32(service.common.streams)), (0x4, UInt32(Self.window))], into: &line.output)
        credit.open(into: &line.output)
    }

    var openStreams: Int { streams.count }

    func nextDue(room: Int) -> UInt64? {
        var next: UInt64?
        for number in answering {
            guard let stream = streams[number],
                let due = stream.outgoing?.nextDue(room: min(sendWindow, stream.sendWindow))
            else { continue }
            next = min(next ?? due, due)
        }
        return next
    }

    // MARK: In

    func take(_ bytes: Span<UInt8>, count: Int, _ line: Conversation) -> Int {
        position = 0
        if !hasPreface {
            hasPreface = true
            position = FrameWriter.preface.count
        }
        let bytes = bytes.extracting(0..<count)
        while line.isReading {
            switch FrameReader.read(bytes, at: position) {
            case .complete(let frame, let end):
                position = end
                take(frame, bytes, line)
            case .needMore:
                credit.give(isOpen: line.state == .open, into: &line.output)
                return position
            case .invalid:
                fail("frame", 0x1, line)
                return position
            }
        }
        return position
    }

    private func take(_ frame: Frame, _ bytes: Span<UInt8>, _ line: Conversation) {
        if fragments != nil {
            guard case .continuation = frame else { return fail("continuation", 0x1, line) }
        }
        switch frame {
        case .headers(let stream, let fragment, let isWhole, let ends):
            // RFC 9113 §5.1.1: odd, and higher than all before.
            guard stream % 2 == 1, stream > highestStream else {
                return fail("stream id", 0x1, line)
            }
            highestStream = stream
            goOn((stream, Self.copy(bytes.extracting(fragment)), ends), isWhole: isWhole, line)
        case .continuation(let stream, let fragment, let isWhole):
            guard var begun = fragments, begun.stream == stream, begun.block.count < 65_536 else {
                return fail("continuation", 0x1, line)
            }
            begun.block += Self.copy(bytes.extracting(fragment))
            goOn(begun, isWhole: isWhole, line)
        case .data(let stream, let body, let flow, let ends):
            guard credit.use(flow) else { return fail("flow control", 0x3, line) }
            data(stream, bytes.extracting(body), flow: flow, ends: ends, line)
        case .settingsAcknowledged:
            guard let change = limits.acknowledged() else {
                return fail("acknowledgement", 0x1, line)
            }
            for number in streams.keys { streams[number]?.receiveWindow += change }
        case .settings(let range):
            apply(bytes.extracting(range))
            FrameWriter.settingsAcknowledgement(into: &line.output)
        case .ping(let opaque): FrameWriter.ping(opaque, acknowledges: true, into: &line.output)
        case .windowUpdate(0, let increment): sendWindow += Int(increment)
        case .windowUpdate(let stream, let increment):
            streams[stream]?.sendWindow += Int(increment)
        case .reset(let stream, _):
            if let gone = streams.removeValue(forKey: stream), gone.isWhole {
                service.tally.faults["cancelled", default: 0] += 1
            }
            answering.remove(stream)
        case .goAway: service.tally.faults["goaway received", default: 0] += 1
        case .pushPromise: fail("push promise", 0x1, line)
        case .pingAcknowledged, .priority, .unknown: break
        }
    }

    /// RFC 9113 §6.5.2: only the initial window concerns us; our frames are of the least size all
    /// take.
    private func apply(_ entries: Span<UInt8>) {
        for start in stride(from: 0, to: entries.count - 5, by: 6)
        where entries[start] == 0 && entries[start + 1] == 4 {
            let value = (2..<6).reduce(0) { $0 << 8 | Int(entries[start + $1]) }
            for number in streams.keys {
                streams[number]?.sendWindow += value - firstSendWindow
            }
            firstSendWindow = value
        }
    }

    private func goOn(
        _ begun: (stream: UInt32, block: [UInt8], ends: Bool), isWhole: Bool, _ line: Conversation
    ) {
        fragments = isWhole ? nil : begun
        guard isWhole else { return }
        do {
            let block = begun.block
            // Whatever becomes of the stream: the table is the connection's.
            try decoder.decode(block.span, into: &list)
        } catch {
            return fail("compression", 0x9, line)
        }
        if case .leaving(let last) = line.state, begun.stream > last { return }
        if streams.count >= limits.streams {
            service.tally.violations["too many streams", default: 0] += 1
            return FrameWriter.reset(stream: begun.stream, code: 0x7, into: &line.output)
        }
        streams[begun.stream] = Stream(
            request: request(), receiveWindow: limits.window, sendWindow: firstSendWindow)
        service.tally.mostStreams = max(service.tally.mostStreams, streams.count)
        if begun.ends { end(begun.stream, line) }
    }

    private func request() -> HTTPRequest {
        var request = blank
        request.isHTTP2 = true
        for index in 0..<list.count {
            let name = String(decoding: list.name(index), as: UTF8.self)
            let value = String(decoding: list.value(index), as: UTF8.self)
            switch name {
            case ":method": request.method = value
            case ":path": request.path = value
            case ":authority": request.authority = value
            case ":scheme":
                if value != (request.isSecure ? "https" : "http") {
                    service.tally.violations["scheme", default: 0] += 1
                }
            default: request.fields.append((name, value))
            }
        }
        return request
    }

    private func data(
        _ number: UInt32, _ body: Span<UInt8>, flow: Int, ends: Bool, _ line: Conversation
    ) {
        guard streams[number] != nil else { return }
        streams[number]?.receiveWindow -= flow
        guard (streams[number]?.receiveWindow ?? 0) >= 0 else {
            return fail("flow control", 0x3, line)
        }
        streams[number]?.request.bodyCount += body.count
        if (streams[number]?.request.body.count ?? 0) + body.count <= HTTPRequest.bodyLimit {
            streams[number]?.request.body += Self.copy(body)
        }
        if ends { return end(number, line) }
        if flow > 0 {
            FrameWriter.windowUpdate(
                stream: number, increment: UInt32(flow), into: &line.output)
            streams[number]?.receiveWindow += flow
        }
    }

    private func end(_ number: UInt32, _ line: Conversation) {
        guard let request = streams[number]?.request else { return }
        streams[number]?.isWhole = true
        switch service.react(request, line.clock) {
        case .answer(let answer, let ticket):
            streams[number]?.outgoing = Outgoing(
                answer, ticket, latency: service.common.latency, now: line.clock.microseconds)
            answering.insert(number)
            write(number, line)
        case .hang(let ticket): streams[number]?.held = ticket
        case .reset(let code):
            streams[number] = nil
            FrameWriter.reset(stream: number, code: code, into: &line.output)
        case .goAway: leave(before: number, line)
        case .stall(let seconds):
            streams[number] = nil
            line.state = .silent(
                until: line.clock.microseconds + UInt64(seconds) * 1_000_000)
        case .garbage:
            line.output += [UInt8](repeating: 0xFF, count: 100)
            line.state = .ended
        case .close: line.state = .ended
        }
    }

    /// This request was not looked at either: safe to send again (RFC 9113 §6.8).
    private func leave(before stream: UInt32, _ line: Conversation) {
        let last = stream > 2 ? stream - 2 : 0
        FrameWriter.goAway(lastStream: last, code: 0, into: &line.output)
        streams = streams.filter { $0.key <= last }
        answering = answering.filter { $0 <= last }
        line.state = .leaving(lastStream: last)
        line.isPolite = true
    }

    private func fail(_ what: String, _ code: UInt32, _ line: Conversation) {
        service.tally.violations[what, default: 0] += 1
        FrameWriter.goAway(lastStream: highestStream, code: code, into: &line.output)
        line.state = .ended
    }

    private static func copy(_ span: Span<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(span.count)
        for index in span.indices { bytes.append(span[index]) }
        return bytes
    }

    // MARK: Out

    func flush(_ line: Conversation) {
        for number in answering { write(number, line) }
        if case .leaving = line.state, streams.values.allSatisfy({ $0.held != nil }) {
            line.state = .ended
        }
    }

    /// Writes what is due of one answer, as far as the windows reach.
    private func write(_ number: UInt32, _ line: Conversation) {
        let now = line.clock.microseconds
        while var stream = streams[number], var outgoing = stream.outgoing {
            let room = min(
                sendWindow, stream.sendWindow, Self.frameBytes,
                HTTPConversation.outputLimit - line.output.count)
            switch outgoing.step(now: now, room: room) {
            case .wait: return
            case .head(let ends):
                let block = Self.block(outgoing.answer)
                FrameWriter.headers(
                    stream: number, block: block, ends: ends, into: &line.output)
                service.tally.answers[outgoing.answer.status, default: 0] += 1
                outgoing.sentHead(now: now)
                streams[number]?.outgoing = outgoing
                if ends { finish(number) }
            case .bytes(let bytes, let ends):
                FrameWriter.data(stream: number, body: bytes, ends: ends, into: &line.output)
                sendWindow -= bytes.count
                stream.sendWindow -= bytes.count
                outgoing.sent(bytes.count, now: now)
                stream.outgoing = outgoing
                streams[number] = stream
                if ends { finish(number) }
            case .cut:
                FrameWriter.reset(stream: number, code: 0x2, into: &line.output)
                finish(number)
            case .done: finish(number)
            }
        }
    }

    private func finish(_ number: UInt32) {
        streams[number] = nil
        answering.remove(number)
    }

    private static func block(_ answer: HTTPAnswer) -> [UInt8] {
        var block: [UInt8] = []
        HPACKWriter.literal(
            name: Array(":status".utf8), value: Array("\(answer.status)".utf8), .without,
            into: &block)
        for field in answer.fields {
            HPACKWriter.literal(
                name: Array(field.name.utf8), value: Array(field.value.utf8), .without,
                into: &block)
        }
        return block
    }
}
