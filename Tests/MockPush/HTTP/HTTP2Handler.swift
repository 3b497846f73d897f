import WakePush
import WakeSystem

/// HTTP/2 (RFC 9113) for requests of any kind and answers that take their time.
final class HTTP2Handler: ProtocolHandler {
    private struct Stream {
        var request: HTTPRequest
        /// Bytes the client may still send in DATA.
        var receiveWindow: Int
        /// Bytes the mock may send.
        var sendWindow: Int
        var isWhole = false
        var outgoing: OutgoingAnswer?
        /// Of a request that is never answered.
        var held: InFlightLease?
    }

    private let service: HTTPService
    /// The common part of all requests.
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

    init(_ service: HTTPService, _ blank: HTTPRequest, _ connection: ServerConnection) {
        self.service = service
        self.blank = blank
        credit = ConnectionCredit(size: 1 << 24)
        limits.announce(streams: service.common.streams, window: Self.window)
        FrameWriter.settings(
            [(0x3, UInt32(service.common.streams)), (0x4, UInt32(Self.window))],
            into: &connection.output)
        credit.open(into: &connection.output)
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

    func receive(_ bytes: Span<UInt8>, count: Int, _ connection: ServerConnection) -> Int {
        position = 0
        if !hasPreface {
            hasPreface = true
            position = FrameWriter.preface.count
        }
        let bytes = bytes.extracting(0..<count)
        while connection.isReading {
            switch FrameReader.read(bytes, at: position) {
            case .complete(let frame, let end):
                position = end
                handle(frame, bytes, connection)
            case .needMore:
                credit.give(isOpen: connection.state == .open, into: &connection.output)
                return position
            case .invalid:
                fail("frame", 0x1, connection)
                return position
            }
        }
        return position
    }

    private func handle(_ frame: Frame, _ bytes: Span<UInt8>, _ connection: ServerConnection) {
        if fragments != nil {
            guard case .continuation = frame else { return fail("continuation", 0x1, connection) }
        }
        switch frame {
        case .headers(let stream, let fragment, let isWhole, let ends):
            // RFC 9113 §5.1.1: odd, and higher than all before.
            guard stream % 2 == 1, stream > highestStream else {
                return fail("stream id", 0x1, connection)
            }
            highestStream = stream
            continueBlock(
                (stream, Self.copy(bytes.extracting(fragment)), ends), isWhole: isWhole, connection)
        case .continuation(let stream, let fragment, let isWhole):
            guard var begun = fragments, begun.stream == stream, begun.block.count < 65_536 else {
                return fail("continuation", 0x1, connection)
            }
            begun.block += Self.copy(bytes.extracting(fragment))
            continueBlock(begun, isWhole: isWhole, connection)
        case .data(let stream, let body, let flow, let ends):
            guard credit.use(flow) else { return fail("flow control", 0x3, connection) }
            data(stream, bytes.extracting(body), flow: flow, ends: ends, connection)
        case .settingsAcknowledged:
            guard let change = limits.acknowledged() else {
                return fail("acknowledgement", 0x1, connection)
            }
            for number in streams.keys { streams[number]?.receiveWindow += change }
        case .settings(let range):
            apply(bytes.extracting(range))
            FrameWriter.settingsAcknowledgement(into: &connection.output)
        case .ping(let opaque):
            FrameWriter.ping(opaque, acknowledges: true, into: &connection.output)
        case .windowUpdate(0, let increment): sendWindow += Int(increment)
        case .windowUpdate(let stream, let increment):
            streams[stream]?.sendWindow += Int(increment)
        case .reset(let stream, _):
            if let gone = streams.removeValue(forKey: stream), gone.isWhole {
                service.counters.faults["cancelled", default: 0] += 1
            }
            answering.remove(stream)
        case .goAway: service.counters.faults["goaway received", default: 0] += 1
        case .pushPromise: fail("push promise", 0x1, connection)
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

    private func continueBlock(
        _ begun: (stream: UInt32, block: [UInt8], ends: Bool), isWhole: Bool,
        _ connection: ServerConnection
    ) {
        fragments = isWhole ? nil : begun
        guard isWhole else { return }
        do {
            let block = begun.block
            // In any case: the table belongs to the connection.
            try decoder.decode(block.span, into: &list)
        } catch {
            return fail("compression", 0x9, connection)
        }
        if case .leaving(let last) = connection.state, begun.stream > last { return }
        if streams.count >= limits.streams {
            service.counters.violations["too many streams", default: 0] += 1
            return FrameWriter.reset(stream: begun.stream, code: 0x7, into: &connection.output)
        }
        streams[begun.stream] = Stream(
            request: request(), receiveWindow: limits.window, sendWindow: firstSendWindow)
        service.counters.mostStreams = max(service.counters.mostStreams, streams.count)
        if begun.ends { end(begun.stream, connection) }
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
                    service.counters.violations["scheme", default: 0] += 1
                }
            default: request.fields.append((name, value))
            }
        }
        return request
    }

    private func data(
        _ number: UInt32, _ body: Span<UInt8>, flow: Int, ends: Bool, _ connection: ServerConnection
    ) {
        guard streams[number] != nil else { return }
        streams[number]?.receiveWindow -= flow
        guard (streams[number]?.receiveWindow ?? 0) >= 0 else {
            return fail("flow control", 0x3, connection)
        }
        streams[number]?.request.bodyCount += body.count
        if (streams[number]?.request.body.count ?? 0) + body.count <= HTTPRequest.bodyLimit {
            streams[number]?.request.body += Self.copy(body)
        }
        if ends { return end(number, connection) }
        if flow > 0 {
            FrameWriter.windowUpdate(
                stream: number, increment: UInt32(flow), into: &connection.output)
            streams[number]?.receiveWindow += flow
        }
    }

    private func end(_ number: UInt32, _ connection: ServerConnection) {
        guard let request = streams[number]?.request else { return }
        streams[number]?.isWhole = true
        switch service.react(request, connection.clock) {
        case .answer(let answer, let lease):
            streams[number]?.outgoing = OutgoingAnswer(
                answer, lease, latency: service.common.latency, now: connection.clock.microseconds)
            answering.insert(number)
            write(number, connection)
        case .hang(let lease): streams[number]?.held = lease
        case .reset(let code):
            streams[number] = nil
            FrameWriter.reset(stream: number, code: code, into: &connection.output)
        case .goAway: leave(before: number, connection)
        case .stall(let seconds):
            streams[number] = nil
            connection.state = .silent(
                until: connection.clock.microseconds + UInt64(seconds) * 1_000_000)
        case .garbage:
            connection.output += [UInt8](repeating: 0xFF, count: 100)
            connection.state = .ended
        case .close: connection.state = .ended
        }
    }

    /// Ignores this request too: safe to send again (RFC 9113 §6.8).
    private func leave(before stream: UInt32, _ connection: ServerConnection) {
        let last = stream > 2 ? stream - 2 : 0
        FrameWriter.goAway(lastStream: last, code: 0, into: &connection.output)
        streams = streams.filter { $0.key <= last }
        answering = answering.filter { $0 <= last }
        connection.state = .leaving(lastStream: last)
        connection.isPolite = true
    }

    private func fail(_ what: String, _ code: UInt32, _ connection: ServerConnection) {
        service.counters.violations[what, default: 0] += 1
        FrameWriter.goAway(lastStream: highestStream, code: code, into: &connection.output)
        connection.state = .ended
    }

    private static func copy(_ span: Span<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(span.count)
        for index in span.indices { bytes.append(span[index]) }
        return bytes
    }

    // MARK: Out

    func flush(_ connection: ServerConnection) {
        for number in answering { write(number, connection) }
        if case .leaving = connection.state, streams.values.allSatisfy({ $0.held != nil }) {
            connection.state = .ended
        }
    }

    /// Writes what is due of one answer, as far as the windows reach.
    private func write(_ number: UInt32, _ connection: ServerConnection) {
        let now = connection.clock.microseconds
        while var stream = streams[number], var outgoing = stream.outgoing {
            let room = min(
                sendWindow, stream.sendWindow, Self.frameBytes,
                HTTPServerConnection.outputLimit - connection.output.count)
            switch outgoing.step(now: now, room: room) {
            case .wait: return
            case .head(let ends):
                let block = Self.block(outgoing.answer)
                FrameWriter.headers(
                    stream: number, block: block, ends: ends, into: &connection.output)
                service.counters.answers[outgoing.answer.status, default: 0] += 1
                outgoing.sentHead(now: now)
                streams[number]?.outgoing = outgoing
                if ends { finish(number) }
            case .bytes(let bytes, let ends):
                FrameWriter.data(stream: number, body: bytes, ends: ends, into: &connection.output)
                sendWindow -= bytes.count
                stream.sendWindow -= bytes.count
                outgoing.sent(bytes.count, now: now)
                stream.outgoing = outgoing
                streams[number] = stream
                if ends { finish(number) }
            case .cut:
                FrameWriter.reset(stream: number, code: 0x2, into: &connection.output)
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
