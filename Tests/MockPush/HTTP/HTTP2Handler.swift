import WakePush
import WakeSystem

/// HTTP/2 (RFC 9113) for requests of any kind and answers that take their time. What it does not
/// hold clients to, nghttpd does in `EngineInteropTests`.
final class HTTP2Handler: ProtocolHandler {
    private struct Stream {
        var request: HTTPRequest
        /// Bytes the mock may send.
        var sendWindow: Int
        var outgoing: OutgoingAnswer?
        /// Of a request that is never answered.
        var held: InFlightLease?
    }

    private let service: HTTPService
    /// The common part of all requests.
    private let blank: HTTPRequest
    private var decoder = HPACKDecoder(limit: 4096)
    private var list = HeaderList()
    private var fragments: (stream: UInt32, block: [UInt8], ends: Bool)?
    private var streams: [UInt32: Stream] = [:]
    private var highestStream: UInt32 = 0
    /// Streams the client may open, once it knows it.
    private var mostStreams = Int.max
    /// Bytes of DATA since the window of the connection was opened last.
    private var received = 0
    /// Of the connection, and of a new stream, for our DATA.
    private var sendWindow = 65_535
    private var firstSendWindow = 65_535
    /// Streams whose answer has not left as a whole, in the order of their requests.
    private var answering: [UInt32] = []

    private static let frameBytes = 16_384
    private static let window = 1 << 24

    init(_ service: HTTPService, _ blank: HTTPRequest, _ connection: Connection) {
        self.service = service
        self.blank = blank
        FrameWriter.settings(
            [(0x3, UInt32(service.common.streams))], into: &connection.output)
        FrameWriter.windowUpdate(
            stream: 0, increment: UInt32(Self.window - 65_535), into: &connection.output)
    }

    var openStreams: Int { streams.count }

    var nextDue: UInt64? {
        for number in answering {
            guard let stream = streams[number], let outgoing = stream.outgoing else { continue }
            // A body waits for the client to open the window.
            if outgoing.isHeadSent, min(sendWindow, stream.sendWindow) <= 0 { continue }
            return outgoing.due
        }
        return nil
    }

    // MARK: In

    func receive(_ bytes: Span<UInt8>, _ connection: Connection) -> Int {
        var position = 0
        while connection.isReading {
            switch FrameReader.read(bytes, at: position) {
            case .complete(let frame, let end):
                position = end
                handle(frame, bytes, connection)
            case .needMore:
                if received >= 32_768 {
                    FrameWriter.windowUpdate(
                        stream: 0, increment: UInt32(received), into: &connection.output)
                    received = 0
                }
                return position
            case .invalid:
                fail("frame", 0x1, connection)
                return position
            }
        }
        return position
    }

    private func handle(_ frame: Frame, _ bytes: Span<UInt8>, _ connection: Connection) {
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
            continueBlock((stream, [], ends), bytes.extracting(fragment), isWhole, connection)
        case .continuation(let stream, let fragment, let isWhole):
            guard let begun = fragments, begun.stream == stream, begun.block.count < 65_536 else {
                return fail("continuation", 0x1, connection)
            }
            continueBlock(begun, bytes.extracting(fragment), isWhole, connection)
        case .data(let stream, let body, let flow, let ends):
            received += flow
            streams[stream]?.request.keep(bytes.extracting(body))
            if ends { end(stream, connection) }
        case .settingsAcknowledged: mostStreams = service.common.streams
        case .settings(let range):
            apply(bytes.extracting(range))
            FrameWriter.settingsAcknowledgement(into: &connection.output)
        case .ping(let opaque):
            FrameWriter.ping(opaque, acknowledges: true, into: &connection.output)
        case .windowUpdate(0, let increment): sendWindow += Int(increment)
        case .windowUpdate(let stream, let increment):
            streams[stream]?.sendWindow += Int(increment)
        case .reset(let stream, _): streams[stream] = nil
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
            for number in streams.keys { streams[number]?.sendWindow += value - firstSendWindow }
            firstSendWindow = value
        }
    }

    private func continueBlock(
        _ begun: (stream: UInt32, block: [UInt8], ends: Bool), _ fragment: Span<UInt8>,
        _ isWhole: Bool, _ connection: Connection
    ) {
        fragments = nil
        do {
            // In any case: the table belongs to the connection.
            if isWhole, begun.block.isEmpty {
                try decoder.decode(fragment, into: &list)
            } else {
                let block = begun.block + fragment.array
                guard isWhole else { return fragments = (begun.stream, block, begun.ends) }
                try decoder.decode(block.span, into: &list)
            }
        } catch {
            return fail("compression", 0x9, connection)
        }
        if case .leaving(let last) = connection.state, begun.stream > last { return }
        if streams.count >= mostStreams {
            service.counters.violations["too many streams", default: 0] += 1
            return FrameWriter.reset(stream: begun.stream, code: 0x7, into: &connection.output)
        }
        streams[begun.stream] = Stream(request: request(), sendWindow: firstSendWindow)
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

    private func end(_ number: UInt32, _ connection: Connection) {
        guard let request = streams[number]?.request else { return }
        switch service.react(request, connection.clock) {
        case .answer(let answer):
            streams[number]?.outgoing = OutgoingAnswer(
                answer, latency: service.common.latency, now: connection.clock.microseconds)
            answering.append(number)
        case .hang(let lease): streams[number]?.held = lease
        case .reset(let code):
            streams[number] = nil
            FrameWriter.reset(stream: number, code: code, into: &connection.output)
        case .goAway: leave(before: number, connection)
        case .garbage:
            connection.output += [UInt8](repeating: 0xFF, count: 100)
            connection.state = .ended
        }
    }

    /// Ignores this request too: safe to send again (RFC 9113 §6.8).
    private func leave(before stream: UInt32, _ connection: Connection) {
        let last = stream > 2 ? stream - 2 : 0
        FrameWriter.goAway(lastStream: last, code: 0, into: &connection.output)
        streams = streams.filter { $0.key <= last }
        connection.state = .leaving(lastStream: last)
    }

    private func fail(_ what: String, _ code: UInt32, _ connection: Connection) {
        FrameWriter.goAway(lastStream: highestStream, code: code, into: &connection.output)
        connection.fail(what)
    }

    // MARK: Out

    /// Writes what is due, as far as windows and what is held back allow.
    func flush(_ connection: Connection) {
        var done = 0
        var blocked: [UInt32] = []
        var allowance = service.allowance
        for number in answering {
            guard var stream = streams[number], var outgoing = stream.outgoing else {
                done += 1
                continue
            }
            guard outgoing.due <= connection.clock.microseconds, allowance > 0 else { break }
            if !outgoing.isHeadSent {
                let answer = outgoing.answer
                FrameWriter.headers(
                    stream: number, block: Self.block(answer),
                    ends: answer.body.isEmpty, into: &connection.output)
                service.didAnswer(answer.status)
                allowance -= 1
                outgoing.isHeadSent = true
            }
            while !outgoing.isWhole {
                let bytes = outgoing.bytes(
                    room: min(sendWindow, stream.sendWindow, Self.frameBytes, connection.room))
                if bytes.isEmpty { break }
                sendWindow -= bytes.count
                stream.sendWindow -= bytes.count
                FrameWriter.data(
                    stream: number, body: bytes, ends: outgoing.isWhole, into: &connection.output)
            }
            done += 1
            stream.outgoing = outgoing
            streams[number] = outgoing.isWhole ? nil : stream
            if !outgoing.isWhole { blocked.append(number) }
        }
        answering.replaceSubrange(..<done, with: blocked)
        if case .leaving = connection.state, streams.values.allSatisfy({ $0.held != nil }) {
            connection.endPolitely()
        }
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
