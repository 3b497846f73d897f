import WakePush

/// The server's side of one HTTP/2 connection to APNs: made for a million requests a second, of one
/// kind.
final class MockConnection: ServerConnection {
    private struct Waiting {
        /// Microseconds.
        var due: UInt64
        var stream: UInt32
        /// A number of the book.
        var answer: Int
    }

    private let service: APNsService
    private var hasPreface = false
    private var decoder: HPACKDecoder
    private var list = HeaderList()
    private var known: KnownBlock?
    /// The stream opened last, apart from the others: most end before the next one begins.
    private var newest: (stream: UInt32, request: OpenRequest)?
    private var requests: [UInt32: OpenRequest] = [:]
    /// A header block that goes on in CONTINUATION.
    private var fragments: (stream: UInt32, block: [UInt8], ends: Bool)?
    private var waiting: [Waiting] = []
    private var firstWaiting = 0
    private var dynamic: DynamicHeaders
    private var highestStream: UInt32 = 0
    private var limits: StreamLimits
    private var credit: ConnectionCredit
    /// What we may still send in DATA.
    private var sendWindow = 65_535

    init(_ service: APNsService) {
        self.service = service
        decoder = HPACKDecoder(limit: max(4096, service.options.tableSize ?? 0))
        dynamic = DynamicHeaders(isOn: service.options.dynamicHeaders)
        limits = StreamLimits()
        credit = ConnectionCredit(size: service.options.connectionWindow)
        super.init()
        service.report.connections += 1
        greet()
    }

    override var openStreams: Int {
        requests.count + (newest == nil ? 0 : 1) + waiting.count - firstWaiting
    }

    override var nextDue: UInt64? {
        guard firstWaiting < waiting.count else { return nil }
        let due = waiting[firstWaiting].due
        // The file is looked for fifty times a second.
        return service.allowance > 0 ? due : max(due, clock.microseconds + 20_000)
    }

    // MARK: In

    override func receive(_ count: Int) {
        if state == .ended { return }
        filled += count
        // Taken out while it is looked at, so that it need not be copied.
        var bytes: [UInt8] = []
        swap(&bytes, &input)
        let position = take(bytes.span, count: filled)
        Bytes.moveToFront(&bytes, position..<filled)
        filled -= position
        swap(&bytes, &input)
        credit.give(isOpen: state == .open, into: &output)
    }

    /// - Returns: how many bytes are done with.
    private func take(_ bytes: Span<UInt8>, count: Int) -> Int {
        var position = 0
        if !hasPreface {
            let preface = FrameWriter.preface
            guard count >= preface.count else { return 0 }
            guard Bytes.same(bytes, preface, 0..<preface.count) else {
                fail("preface", 0x1)
                return 0
            }
            hasPreface = true
            position = preface.count
        }
        let bytes = bytes.extracting(0..<count)
        while state != .ended {
            if case .silent = state { break }
            switch FrameReader.read(bytes, at: position) {
            case .complete(let frame, let end):
                position = end
                take(frame, bytes)
            case .needMore: return position
            case .invalid:
                fail("frame", 0x1)
                return position
            }
        }
        return position
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
            guard credit.use(flow) else { return fail("flow control", 0x3) }
            data(stream, bytes.extracting(body), flow: flow, ends: ends)
        case .settingsAcknowledged:
            guard let change = limits.acknowledged() else {
                return fail("acknowledgement", 0x1)
            }
            widen(by: change)
        case .settings: FrameWriter.settingsAcknowledgement(into: &output)
        case .ping(let opaque): FrameWriter.ping(opaque, acknowledges: true, into: &output)
        case .windowUpdate(0, let increment):
            sendWindow += Int(increment)
            flush()
        case .reset(let stream, _): _ = remove(stream)
        case .goAway: service.report.faults["goaway received", default: 0] += 1
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
        guard let request = request(block) else { return fail("compression", 0x9) }
        if case .leaving(let last) = state, stream > last { return }
        if openStreams >= limits.streams {
            service.violation("too many streams")
            return FrameWriter.reset(stream: stream, code: 0x7, into: &output)
        }
        if let newest { requests[newest.stream] = newest.request }
        newest = (stream, request)
        service.report.mostStreams = max(service.report.mostStreams, openStreams)
        if ends { end(stream, request) }
    }

    /// What a header block asks for; nil when it cannot be decoded.
    private func request(_ block: Span<UInt8>) -> OpenRequest? {
        if let known, let token = known.token(of: block, second: clock.seconds) {
            return service.check.openAgain(known.profile, token, window: limits.window)
        }
        known = nil
        do {
            // Whatever becomes of the stream: the table is the connection's.
            try decoder.decode(block, into: &list)
        } catch {
            return nil
        }
        let request = service.check.open(list, now: clock.seconds, window: limits.window)
        if request.refusal == nil, let token = request.token, token.rest == nil {
            known = KnownBlock(
                block, token: token.words, second: clock.seconds, profile: request.profile)
        }
        return request
    }

    private func data(_ stream: UInt32, _ body: Span<UInt8>, flow: Int, ends: Bool) {
        guard var request = remove(stream) else { return }
        request.receiveWindow -= flow
        guard request.receiveWindow >= 0 else { return fail("flow control", 0x3) }
        service.check.take(body, into: &request)
        if ends { return end(stream, request) }
        // A tiny window opens by as much as was used, so that it stays tiny.
        if flow > 0 {
            FrameWriter.windowUpdate(stream: stream, increment: UInt32(flow), into: &output)
            request.receiveWindow += flow
        }
        requests[stream] = request
    }

    private func remove(_ stream: UInt32) -> OpenRequest? {
        guard let newest, newest.stream == stream else {
            return requests.removeValue(forKey: stream)
        }
        self.newest = nil
        return newest.request
    }

    /// RFC 9113 §6.9.2: a new SETTINGS_INITIAL_WINDOW_SIZE changes the windows of open streams.
    private func widen(by change: Int) {
        if change == 0 { return }
        newest?.request.receiveWindow += change
        for stream in requests.keys { requests[stream]?.receiveWindow += change }
    }

    // MARK: Out

    private func end(_ stream: UInt32, _ request: OpenRequest) {
        _ = remove(stream)
        switch service.decide(request) {
        case .answer(let answer):
            service.book.give(answer)
            waiting.append(Waiting(due: due, stream: stream, answer: answer))
            flush()
        case .reset(let code): FrameWriter.reset(stream: stream, code: code, into: &output)
        case .goAway: leave(before: stream)
        case .stall:
            let time = UInt64(service.options.stallSeconds) * 1_000_000
            state = .silent(until: clock.microseconds + time)
        case .garbage:
            output += [UInt8](repeating: 0xFF, count: 100)
            state = .ended
        }
        if service.streams != limits.announced { announce(service.streams) }
    }

    /// When an answer that is decided now may leave: together with others, four times a
    /// millisecond.
    private var due: UInt64 {
        if service.options.latency == 0 { return clock.microseconds }
        let time = clock.microseconds + UInt64(service.options.latency) * 1000
        return (time + 249) / 250 * 250
    }

    /// This request was not looked at either: safe to send again (RFC 9113 §6.8).
    private func leave(before stream: UInt32) {
        let last = stream > 2 ? stream - 2 : 0
        FrameWriter.goAway(lastStream: last, code: 0, into: &output)
        if let newest, newest.stream > last { self.newest = nil }
        requests = requests.filter { $0.key <= last }
        state = .leaving(lastStream: last)
        isPolite = true
        endIfDone()
    }

    /// Ends a silence by reading on.
    override func wake() {
        if case .silent(let until) = state {
            guard clock.microseconds >= until else { return }
            state = .open
            receive(0)
        }
        flush()
    }

    /// Writes the answers that are due, as far as the window reaches.
    private func flush() {
        guard firstWaiting < waiting.count else { return endIfDone() }
        let allowance = service.allowance
        var count = 0
        while firstWaiting < waiting.count, waiting[firstWaiting].due <= clock.microseconds,
            count < allowance
        {
            let next = waiting[firstWaiting]
            let bytes = service.book.bodyCount(next.answer)
            guard bytes <= sendWindow else { break }
            service.book.write(next.answer, on: next.stream, &dynamic, into: &output)
            sendWindow -= bytes
            firstWaiting += 1
            count += 1
        }
        service.didAnswer(count)
        if firstWaiting == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            firstWaiting = 0
        } else if firstWaiting > 4096 {
            waiting.removeFirst(firstWaiting)
            firstWaiting = 0
        }
        endIfDone()
    }

    private func endIfDone() {
        if case .leaving = state, openStreams == 0 { state = .ended }
    }

    private func greet() {
        var entries: [(id: UInt16, value: UInt32)] = []
        if let size = service.options.tableSize { entries.append((0x1, UInt32(size))) }
        entries.append((0x3, UInt32(service.streams)))
        if let window = service.options.window { entries.append((0x4, UInt32(window))) }
        limits.announce(streams: service.streams, window: service.options.window)
        FrameWriter.settings(entries, into: &output)
        credit.open(into: &output)
    }

    private func announce(_ streams: Int) {
        limits.announce(streams: streams, window: nil)
        FrameWriter.settings([(0x3, UInt32(streams))], into: &output)
    }

    private func fail(_ what: String, _ code: UInt32) {
        service.violation(what)
        FrameWriter.goAway(lastStream: highestStream, code: code, into: &output)
        state = .ended
    }

    private func copy(_ span: Span<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        for index in span.indices { bytes.append(span[index]) }
        return bytes
    }
}
