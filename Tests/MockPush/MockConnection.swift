import WakePush

/// The server's side of one HTTP/2 connection, without a socket: bytes in, bytes out.
final class MockConnection {
    /// What becomes of the connection.
    enum State: Equatable {
        case open
        /// GOAWAY was sent: later streams are not looked at.
        case leaving(lastStream: UInt32)
        /// Says and hears nothing until then, milliseconds.
        case silent(until: UInt64)
        /// To be closed once `output` is gone.
        case ended
    }

    private struct Waiting {
        var due: UInt64
        var stream: UInt32
        var answer: Answer
    }

    var output: [UInt8] = []
    private(set) var state = State.open

    let desk: Desk
    private var input: [UInt8] = []
    private var hasPreface = false
    var decoder: HPACKDecoder
    var list = HeaderList()
    var requests: [UInt32: OpenRequest] = [:]
    /// A header block that goes on in CONTINUATION.
    var fragments: (stream: UInt32, block: [UInt8], ends: Bool)?
    private var waiting: [Waiting] = []
    private var firstWaiting = 0
    private var dynamic: DynamicHeaders
    private(set) var highestStream: UInt32 = 0
    /// What the client may open, once it has acknowledged our SETTINGS; before, anything.
    private var agreedStreams = Int.max
    private var announcedStreams: [Int] = []
    /// What we may still send in DATA.
    private var sendWindow = 65_535
    private var consumed = 0

    var clock: (milliseconds: UInt64, seconds: Int) = (0, 0)

    init(_ desk: Desk) {
        self.desk = desk
        decoder = HPACKDecoder(limit: max(4096, desk.options.tableSize ?? 0))
        dynamic = DynamicHeaders(isOn: desk.options.dynamicHeaders)
        desk.report.connections += 1
        greet()
    }

    /// Streams that wait for their answer or their end.
    var openStreams: Int { requests.count + waiting.count - firstWaiting }

    /// When the next answer is due, milliseconds of the clock.
    var nextDue: UInt64? { firstWaiting < waiting.count ? waiting[firstWaiting].due : nil }

    // MARK: In

    func receive(_ bytes: ArraySlice<UInt8>) {
        if state == .ended { return }
        input += bytes
        var position = 0
        if !hasPreface {
            guard input.count >= FrameWriter.preface.count else { return }
            guard input.starts(with: FrameWriter.preface) else { return fail("preface", 0x1) }
            hasPreface = true
            position = FrameWriter.preface.count
        }
        let bytes = input
        frames: while state != .ended {
            if case .silent = state { break }
            switch FrameReader.read(bytes.span, at: position) {
            case .complete(let frame, let end):
                position = end
                take(frame, bytes.span)
            case .needMore: break frames
            case .invalid:
                fail("frame", 0x1)
                break frames
            }
        }
        input.removeSubrange(..<min(position, input.count))
        giveCredit()
    }

    private func take(_ frame: Frame, _ bytes: Span<UInt8>) {
        if fragments != nil {
            guard case .continuation = frame else { return fail("continuation", 0x1) }
        }
        switch frame {
        case .headers(let stream, let fragment, let isWhole, let ends):
            begin(stream, bytes.extracting(fragment), isWhole: isWhole, ends: ends)
        case .continuation(let stream, let fragment, let isWhole):
            goOn(stream, bytes.extracting(fragment), isWhole: isWhole)
        case .data(let stream, let body, let flow, let ends):
            consumed += flow
            data(stream, bytes.extracting(body), flow: flow, ends: ends)
        case .settingsAcknowledged:
            if announcedStreams.isEmpty { return fail("acknowledgement", 0x1) }
            agreedStreams = announcedStreams.removeFirst()
        case .settings: FrameWriter.settingsAcknowledgement(into: &output)
        case .ping(let opaque): FrameWriter.ping(opaque, acknowledges: true, into: &output)
        case .windowUpdate(0, let increment):
            sendWindow += Int(increment)
            flush()
        case .reset(let stream, _): requests[stream] = nil
        case .goAway: desk.report.faults["goaway received", default: 0] += 1
        case .pushPromise: fail("push promise", 0x1)
        case .windowUpdate, .pingAcknowledged, .priority, .unknown: break
        }
    }

    private func begin(_ stream: UInt32, _ block: Span<UInt8>, isWhole: Bool, ends: Bool) {
        // RFC 9113 §5.1.1: odd, and higher than all before.
        guard stream % 2 == 1, stream > highestStream else { return fail("stream id", 0x1) }
        highestStream = stream
        if !isWhole {
            fragments = (stream, copy(block), ends)
            return
        }
        open(stream, block, ends: ends)
    }

    private func goOn(_ stream: UInt32, _ block: Span<UInt8>, isWhole: Bool) {
        guard var begun = fragments, begun.stream == stream, begun.block.count < 65_536 else {
            return fail("continuation", 0x1)
        }
        begun.block += copy(block)
        fragments = isWhole ? nil : begun
        if isWhole { open(stream, begun.block.span, ends: begun.ends) }
    }

    private func open(_ stream: UInt32, _ block: Span<UInt8>, ends: Bool) {
        do {
            // Whatever becomes of the stream: the table is the connection's.
            try decoder.decode(block, into: &list)
        } catch {
            return fail("compression", 0x9)
        }
        if case .leaving(let last) = state, stream > last { return }
        if openStreams >= agreedStreams {
            desk.violation("too many streams")
            return FrameWriter.reset(stream: stream, code: 0x7, into: &output)
        }
        let request = desk.check.open(
            list, now: clock.seconds, window: desk.options.window ?? 65_535)
        requests[stream] = request
        desk.report.mostStreams = max(desk.report.mostStreams, openStreams)
        if ends { end(stream, request) }
    }

    private func data(_ stream: UInt32, _ body: Span<UInt8>, flow: Int, ends: Bool) {
        guard var request = requests[stream] else { return }
        request.receiveWindow -= flow
        guard request.receiveWindow >= 0 else { return fail("flow control", 0x3) }
        desk.check.take(body, into: &request)
        if ends { return end(stream, request) }
        // A tiny window opens by as much as was used, so that it stays tiny.
        if flow > 0 {
            FrameWriter.windowUpdate(stream: stream, increment: UInt32(flow), into: &output)
            request.receiveWindow += flow
        }
        requests[stream] = request
    }

    // MARK: Out

    private func end(_ stream: UInt32, _ request: OpenRequest) {
        requests[stream] = nil
        let streams = desk.streams
        switch desk.decide(request) {
        case .answer(let answer):
            desk.report.answers[answer.status, default: 0] += 1
            waiting.append(
                Waiting(
                    due: clock.milliseconds + UInt64(desk.options.latency), stream: stream,
                    answer: answer))
            flush()
        case .reset(let code): FrameWriter.reset(stream: stream, code: code, into: &output)
        case .goAway:
            // This request was not looked at either: safe to send again (RFC 9113 §6.8).
            let last = stream > 2 ? stream - 2 : 0
            FrameWriter.goAway(lastStream: last, code: 0, into: &output)
            requests = requests.filter { $0.key <= last }
            state = .leaving(lastStream: last)
            endIfDone()
        case .stall:
            state = .silent(until: clock.milliseconds + UInt64(desk.options.stallSeconds) * 1000)
        case .garbage:
            output += [UInt8](repeating: 0xFF, count: 100)
            state = .ended
        }
        if desk.streams != streams { announce(streams: desk.streams) }
    }

    /// Time has passed: writes what is due, and ends a silence by reading on.
    func wake() {
        if case .silent(let until) = state {
            guard clock.milliseconds >= until else { return }
            state = .open
            receive([])
        }
        flush()
    }

    /// Writes the answers that are due, as far as the window reaches.
    private func flush() {
        while firstWaiting < waiting.count, waiting[firstWaiting].due <= clock.milliseconds {
            let next = waiting[firstWaiting]
            let body = next.answer.body
            guard body.count <= sendWindow else { break }
            write(next.answer, body, on: next.stream)
            sendWindow -= body.count
            firstWaiting += 1
        }
        if firstWaiting == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            firstWaiting = 0
        } else if firstWaiting > 4096 {
            waiting.removeFirst(firstWaiting)
            firstWaiting = 0
        }
        endIfDone()
    }

    private func write(_ answer: Answer, _ body: [UInt8], on stream: UInt32) {
        let block = answer.block(&dynamic)
        let part = 16_384
        FrameWriter.headers(
            stream: stream, block: Array(block.prefix(part)), isWhole: block.count <= part,
            ends: body.isEmpty, into: &output)
        var start = part
        while start < block.count {
            let end = min(start + part, block.count)
            FrameWriter.continuation(
                stream: stream, block: Array(block[start..<end]), isWhole: end == block.count,
                into: &output)
            start = end
        }
        if !body.isEmpty {
            FrameWriter.data(stream: stream, body: body[...], ends: true, into: &output)
        }
    }

    private func endIfDone() {
        if case .leaving = state, openStreams == 0 { state = .ended }
    }

    private func greet() {
        var entries: [(id: UInt16, value: UInt32)] = []
        if let size = desk.options.tableSize { entries.append((0x1, UInt32(size))) }
        entries.append((0x3, UInt32(desk.streams)))
        if let window = desk.options.window { entries.append((0x4, UInt32(window))) }
        announcedStreams.append(desk.streams)
        FrameWriter.settings(entries, into: &output)
        FrameWriter.windowUpdate(stream: 0, increment: 1 << 24, into: &output)
    }

    private func announce(streams: Int) {
        announcedStreams.append(streams)
        FrameWriter.settings([(0x3, UInt32(streams))], into: &output)
    }

    private func giveCredit() {
        guard consumed >= 32_768, state == .open else { return }
        FrameWriter.windowUpdate(stream: 0, increment: UInt32(consumed), into: &output)
        consumed = 0
    }

    private func fail(_ what: String, _ code: UInt32) {
        desk.violation(what)
        FrameWriter.goAway(lastStream: highestStream, code: code, into: &output)
        state = .ended
    }

    private func copy(_ span: Span<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        for index in span.indices { bytes.append(span[index]) }
        return bytes
    }
}
