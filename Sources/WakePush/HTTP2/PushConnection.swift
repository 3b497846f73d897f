import WakeSystem

/// One HTTP/2 connection as a value, without clock or socket: bytes and pushes go in, bytes to send
/// and outcomes come out.
package struct PushConnection: Sendable {
    private let limits: ConnectionLimits
    private var encoder: RequestEncoder
    private var pushes: PendingPushes
    private(set) var nextStream: UInt32
    private var peer = PeerSettings()
    private var hasSettings = false
    private var sendWindow = SendWindow()
    private var output = OutputBuffer()
    private var receiveWindow = ReceiveWindow()
    private var partial: [UInt8] = []
    private var decoder = HPACKDecoder()
    private var list = HeaderList()
    private var openBlock: HeaderBlock?
    /// The code of the peer's GOAWAY.
    private var goAwayCode: UInt32?
    /// Why the peer sent its last GOAWAY.
    package private(set) var goAway: GoAwayReason?
    package private(set) var end: ConnectionEnd?
    private var now: UInt64
    private var lastReceived: UInt64
    private var lastPing: UInt64 = 0
    /// Since when pushes wait although nothing is in flight.
    private var noRoomSince: UInt64?
    /// Streams in a row that were given up without an answer.
    private var unanswered = 0
    private let firstStream: UInt32
    /// Seconds since 1970 when `now` was 0.
    private let wallOrigin: Int64

    private static let lastStream: UInt32 = 0x7fff_ffff

    /// - Parameters:
    ///   - wallSeconds: seconds since 1970 at `now`.
    ///   - now: milliseconds of a clock that never goes back.
    package init(
        _ template: RequestTemplate, limits: ConnectionLimits = ConnectionLimits(),
        firstStream: UInt32 = 1, wallSeconds: Int64 = 0, now: UInt64
    ) {
        precondition(firstStream % 2 == 1, "clients open odd streams (RFC 9113 §5.1.1)")
        precondition(limits.streams > 0, "a connection without streams sends nothing")
        self.limits = limits
        encoder = RequestEncoder(template)
        pushes = PendingPushes(capacity: limits.streams)
        nextStream = firstStream
        self.firstStream = firstStream
        lastReceived = now
        wallOrigin = wallSeconds - Int64(now / 1000)
        self.now = now
        output.bytes.append(contentsOf: FrameWriter.preface)
        // We ask for an empty table and no server push; the rest are the protocol's own values.
        FrameWriter.settings(
            [(PeerSettings.ID.tableSize, 0), (PeerSettings.ID.enablePush, 0)], into: &output.bytes)
        FrameWriter.windowUpdate(
            stream: 0, increment: UInt32(ConnectionLimits.window - 65_535), into: &output.bytes)
    }

    /// The number of pushes that may be sent now.
    package var room: Int {
        guard end == nil, hasSettings, goAwayCode == nil, nextStream <= Self.lastStream,
            sendWindow.hasRoom
        else { return 0 }
        // Apple: one stream until a request with a valid token was answered.
        let limit = min(isProven ? limits.streams : 1, peer.concurrentStreams)
        return max(0, limit - pushes.count)
    }

    /// Opens a stream for one push; only while there is room.
    package mutating func push(_ reference: UInt64, token: Span<UInt8>) {
        let stream = nextStream
        nextStream += 2
        // Silence counts from when an answer is due.
        if pushes.count == 0 { lastReceived = max(lastReceived, now) }
        pushes.insert(stream, reference: reference, openedAt: now)
        let count = encoder.bodyCount(token: token.count)
        if sendWindow.take(count, window: peer.initialWindow) {
            encoder.append(stream: stream, token: token, into: &output.bytes)
        } else {
            encoder.appendHeaders(stream: stream, token: token, into: &output.bytes)
            sendWindow.block(encoder.body(token: token), of: stream, window: peer.initialWindow)
            sendBlocked()
        }
    }

    var inFlight: Int { pushes.count }
    var isProven: Bool { pushes.provesCredential }
    /// The peer takes no more pushes, and still answers earlier ones.
    var isDraining: Bool { goAwayCode != nil && end == nil }
    /// It has sent enough that its planned end is no sign of trouble.
    var hasServed: Bool {
        isProven && Int(nextStream - firstStream) / 2 >= ConnectionLimits.usefulPushes
    }
    /// The peer owes us something: an answer, or its first frame.
    var awaitsPeer: Bool { end == nil && (!hasSettings || pushes.count > 0) }

    package mutating func update(_ template: RequestTemplate) { encoder.update(template) }

    package mutating func takeOutcomes(into all: inout PushOutcomes) {
        pushes.takeOutcomes(into: &all)
    }

    package var outputCount: Int { output.count }
    /// The bytes to be sent, from `offset` on.
    package var outputBytes: (bytes: [UInt8], offset: Int) { (output.bytes, output.sent) }

    package mutating func didSend(_ count: Int) { output.didSend(count) }
    /// Overwrites what held push tokens.
    package mutating func wipe() { output.bytes.wipe() }

    private mutating func sendBlocked() {
        sendWindow.sendBlocked(frameSize: peer.frameSize, into: &output.bytes)
    }

    private mutating func sendReset(_ stream: UInt32, _ code: UInt32) {
        FrameWriter.reset(stream: stream, code: code, into: &output.bytes)
    }

    // MARK: Receiving

    /// Handles the first `count` of `bytes`.
    package mutating func receive(_ bytes: [UInt8], count: Int, now: UInt64) {
        advance(to: now)
        lastReceived = self.now
        guard end == nil else { return }
        if partial.isEmpty {
            let used = readFrames(bytes.span.extracting(0..<count))
            if used < count { partial.append(contentsOf: bytes[used..<count]) }
        } else {
            var joined: [UInt8] = []
            swap(&joined, &partial)
            joined.append(contentsOf: bytes[0..<count])
            let used = readFrames(joined.span)
            joined.removeFirst(used)
            partial = joined
        }
        if end == nil, outputCount > ConnectionLimits.unreadBytes {
            violate(ErrorCode.enhanceYourCalm)
        }
    }

    private mutating func readFrames(_ bytes: Span<UInt8>) -> Int {
        var position = 0
        while end == nil {
            position = readAccepted(bytes, from: position)
            switch FrameReader.read(bytes, at: position) {
            case .complete(let frame, let next):
                handle(frame, bytes)
                position = next
            case .needMore: return position
            case .invalid(let error):
                violate(error == .badLength ? ErrorCode.frameSize : ErrorCode.protocolError)
            }
        }
        return bytes.count
    }

    /// Handles whole answers that are `:status: 200` and nothing else, faster than `handle`.
    /// Returns the position of the first other frame.
    private mutating func readAccepted(_ bytes: Span<UInt8>, from start: Int) -> Int {
        // Not for an ending connection, an open block or unsent bodies.
        guard hasSettings, isProven, openBlock == nil, !sendWindow.hasBlocked,
            goAwayCode == nil, nextStream <= Self.lastStream
        else { return start }
        var position = start
        // RFC 9113 §6.2: 1 byte of HEADERS with END_STREAM and END_HEADERS; RFC 7541 §6.1: 8.
        while bytes.count - position >= 10,
            bytes.bigEndian(at: position, as: UInt32.self) == 0x0000_0101,
            bytes[position + 4] == FrameFlag.endStream | FrameFlag.endHeaders,
            bytes[position + 9] == 0x88,
            pushes.accept(bytes.bigEndian(at: position + 5))
        { position += 10 }
        return position
    }

    private mutating func handle(_ frame: Frame, _ bytes: Span<UInt8>) {
        if let open = openBlock {
            // RFC 9113 §6.2: nothing may come between the parts of a header block.
            guard case .continuation(let stream, let fragment, let isWhole) = frame,
                stream == open.stream
            else { return violate(ErrorCode.protocolError) }
            return continueBlock(bytes.extracting(fragment), isWhole: isWhole)
        }
        if !hasSettings {
            // RFC 9113 §3.4: a server begins with SETTINGS.
            guard case .settings = frame else { return violate(ErrorCode.protocolError) }
        }
        switch frame {
        case .headers(let stream, let fragment, let isWhole, let ends):
            guard wasOpened(stream) else { return violate(ErrorCode.protocolError) }
            let fragment = bytes.extracting(fragment)
            if isWhole { return readBlock(fragment, stream, ends: ends) }
            openBlock = HeaderBlock(fragment, of: stream, ends: ends)
        case .data(let stream, let body, let flow, let ends):
            receiveData(stream, bytes.extracting(body), flow: flow, ends: ends)
        case .reset(let stream, let code):
            guard wasOpened(stream) else { return violate(ErrorCode.protocolError) }
            // RFC 9113 §8.7: a refused stream was not processed.
            giveUp(stream, code == ErrorCode.refusedStream ? .refused : .unknown)
        case .settings(let range): receiveSettings(bytes.extracting(range))
        case .ping(let opaque): FrameWriter.ping(opaque, acknowledges: true, into: &output.bytes)
        case .goAway(let last, let code, let debug):
            goAwayCode = code
            goAway = GoAwayReason(code: code, debug: bytes.extracting(debug))
            // RFC 9113 §6.8: streams above `last` were not and will not be processed.
            for stream in pushes.streams(where: { $0.id > last }) { giveUp(stream, .unsent) }
            endIfDrained()
        case .windowUpdate(let stream, let increment): receiveWindow(stream, Int(increment))
        case .pushPromise, .continuation: violate(ErrorCode.protocolError)
        case .priority, .settingsAcknowledged, .pingAcknowledged, .unknown: break
        }
    }

    private func wasOpened(_ stream: UInt32) -> Bool { stream % 2 == 1 && stream < nextStream }

    private mutating func receiveSettings(_ entries: Span<UInt8>) {
        let before = peer
        for position in stride(from: 0, to: entries.count, by: 6) {
            let id: UInt16 = entries.bigEndian(at: position)
            if let code = peer.apply(id: id, value: entries.bigEndian(at: position + 2)) {
                return violate(code)
            }
            if id == PeerSettings.ID.tableSize { encoder.setTableSize(peer.tableSize) }
        }
        hasSettings = true
        FrameWriter.settingsAcknowledgement(into: &output.bytes)
        let change = peer.initialWindow - before.initialWindow
        guard change != 0 else { return }
        if let code = sendWindow.changeInitial(by: change) { return violate(code) }
        sendBlocked()
    }

    private mutating func receiveWindow(_ stream: UInt32, _ increment: Int) {
        if stream == 0 {
            if let code = sendWindow.grow(by: increment) { return violate(code) }
        } else {
            guard wasOpened(stream) else { return violate(ErrorCode.protocolError) }
            if let code = sendWindow.grow(stream, by: increment) {
                sendReset(stream, code)
                return giveUp(stream, .unknown)
            }
        }
        sendBlocked()
    }

    private mutating func continueBlock(_ fragment: Span<UInt8>, isWhole: Bool) {
        guard var block = openBlock.take() else { return }
        guard block.append(fragment) else { return violate(ErrorCode.enhanceYourCalm) }
        guard isWhole else { return openBlock = block }
        readBlock(block.bytes.span, block.stream, ends: block.ends)
    }

    private mutating func readBlock(_ block: Span<UInt8>, _ stream: UInt32, ends: Bool) {
        do {
            // Of a closed stream, too: the tables must agree (RFC 9113 §4.3).
            try decoder.decode(block, into: &list)
        } catch { return violate(ErrorCode.compression) }
        let wallSeconds = wallOrigin + Int64(now / 1000)
        finish(stream, pushes.receive(list, of: stream, ends: ends, wallSeconds: wallSeconds))
    }

    private mutating func receiveData(
        _ stream: UInt32, _ body: Span<UInt8>, flow: Int, ends: Bool
    ) {
        guard wasOpened(stream) else { return violate(ErrorCode.protocolError) }
        guard let increment = receiveWindow.receive(flow) else {
            return violate(ErrorCode.flowControl)
        }
        if increment > 0 {
            FrameWriter.windowUpdate(stream: 0, increment: increment, into: &output.bytes)
        }
        finish(stream, pushes.receive(body, of: stream, ends: ends))
    }

    private mutating func finish(_ stream: UInt32, _ part: PendingPushes.Part) {
        switch part {
        case .more: return
        case .whole:
            unanswered = 0
            // RFC 9113 §8.1: answered before the request was sent whole.
            if sendWindow.isBlocked(stream) { sendReset(stream, ErrorCode.cancel) }
        case .enough: sendReset(stream, ErrorCode.cancel)
        case .malformed:
            // RFC 9113 §8.1.1: an error of its stream alone.
            sendReset(stream, ErrorCode.protocolError)
            pushes.giveUp(stream, .unknown)
        }
        close(stream)
    }

    private mutating func giveUp(_ stream: UInt32, _ failure: AttemptFailure) {
        pushes.giveUp(stream, failure)
        close(stream)
    }

    private mutating func close(_ stream: UInt32) {
        sendWindow.drop(stream)
        endIfDrained()
    }

    package mutating func transportEnded() { end(.lost) }

    /// Ends at once; without anything in flight, with GOAWAY.
    package mutating func cancel() {
        guard end == nil else { return }
        if pushes.count == 0 {
            FrameWriter.goAway(lastStream: 0, code: ErrorCode.none, into: &output.bytes)
        }
        end(.cancelled)
    }

    /// Sends GOAWAY with the code, and ends.
    private mutating func violate(_ code: UInt32) {
        guard end == nil else { return }
        FrameWriter.goAway(lastStream: 0, code: code, into: &output.bytes)
        end(.violation(code))
    }

    private mutating func end(_ reason: ConnectionEnd) {
        guard end == nil else { return }
        end = reason
        for stream in pushes.streams(where: { _ in true }) { giveUp(stream, .unknown) }
    }

    private mutating func endIfDrained() {
        guard end == nil, pushes.count == 0 else { return }
        if let code = goAwayCode {
            end(.goAway(code))
        } else if nextStream > Self.lastStream {
            end(.exhausted)
        }
    }

    mutating func advance(to now: UInt64) { self.now = max(self.now, now) }

    /// Ends streams, or the connection, that have waited too long; about once a second.
    /// - Parameter isQueued: pushes wait for room.
    package mutating func tick(now: UInt64, isQueued: Bool) {
        advance(to: now)
        // A peer may open no stream, or refill no window, and still answer every PING.
        let isStuck = isQueued && pushes.count == 0 && room == 0
        noRoomSince = isStuck ? noRoomSince ?? self.now : nil
        if let since = noRoomSince, self.now - since >= limits.noRoomMilliseconds {
            return end(.stalled)
        }
        guard awaitsPeer else { return lastReceived = self.now }
        let silence = self.now - lastReceived
        if silence >= limits.silenceMilliseconds { return end(.stalled) }
        if hasSettings, silence >= limits.silenceMilliseconds / 2, lastPing <= lastReceived {
            lastPing = self.now
            FrameWriter.ping(0x7265_7665_696c_6c65, acknowledges: false, into: &output.bytes)
        }
        let time = self.now
        let (answer, body) = (limits.answerMilliseconds, limits.bodyMilliseconds)
        for stream in pushes.streams(where: {
            $0.age(now: time) >= ($0.status == 0 ? answer : min(answer, body))
        }) {
            sendReset(stream, ErrorCode.cancel)
            if pushes.cut(stream) {
                close(stream)
            } else {
                unanswered += 1
                giveUp(stream, .unknown)
            }
        }
        if !isProven, unanswered >= ConnectionLimits.unansweredStreams { end(.stalled) }
    }
}

private struct OutputBuffer: Sendable {
    /// Bytes to send; those before `sent` have been.
    var bytes: [UInt8] = []
    private(set) var sent = 0

    /// The most sent bytes that stay in front of unsent ones.
    private static let keptBytes = 65_536

    var count: Int { bytes.count - sent }

    mutating func didSend(_ count: Int) {
        precondition(count <= self.count, "more sent than there was")
        sent += count
        if sent == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            sent = 0
        } else if sent >= Self.keptBytes {
            // Bounds memory for a peer that never reads everything.
            bytes.removeFirst(sent)
            sent = 0
        }
    }
}
