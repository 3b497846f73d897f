/// What each frame does (RFC 9113 §6).
extension PushConnection {
    mutating func handle(_ frame: Frame, _ bytes: Span<UInt8>) {
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
            if isWhole { return readBlock(bytes.extracting(fragment), stream, ends: ends) }
            var open = OpenBlock(stream: stream, bytes: [], ends: ends)
            open.bytes.append(span: bytes.extracting(fragment))
            openBlock = open
        case .data(let stream, let body, let flow, let ends):
            receiveData(stream, bytes.extracting(body), flow: flow, ends: ends)
        case .reset(let stream, let code): receiveReset(stream, code)
        case .settings(let range): receiveSettings(bytes.extracting(range))
        case .ping(let opaque):
            send { FrameWriter.ping(opaque, acknowledges: true, into: &$0) }
        case .goAway(let last, let code): receiveGoAway(last, code)
        case .windowUpdate(let stream, let increment): receiveWindow(stream, Int(increment))
        case .pushPromise, .continuation: violate(ErrorCode.protocolError)
        case .priority, .settingsAcknowledged, .pingAcknowledged, .unknown: break
        }
    }

    /// Whether we have ever opened this stream.
    private func wasOpened(_ stream: UInt32) -> Bool { stream % 2 == 1 && stream < nextStream }

    // MARK: Answers

    /// Passes over whole answers that are `:status: 200` and nothing else, which is what most of
    /// them are. They mean the same when read by `handle`, only slower.
    /// - Returns: where the first other frame begins.
    mutating func readAccepted(_ bytes: Span<UInt8>, from start: Int) -> Int {
        // An ending connection, an open block and unsent bodies ask for more than this does.
        guard hasSettings, isProven, openBlock == nil, blocked.isEmpty, goAwayCode == nil,
            !isFinishing, nextStream <= 0x7fff_ffff
        else { return start }
        var position = start
        // RFC 9113 §6.2: 1 byte of HEADERS with END_STREAM and END_HEADERS; RFC 7541 §6.1: 8.
        while bytes.count - position >= 10, bytes.big32(at: position) == 0x0000_0101,
            bytes[position + 4] == FrameFlag.endStream | FrameFlag.endHeaders,
            bytes[position + 9] == 0x88,
            let reference = streams.takeUnanswered(bytes.big32(at: position + 5))
        {
            outcomes.append(
                reference, .answered(status: 200, retryAfter: 0, body: .empty),
                connection: serial)
            position += 10
        }
        return position
    }

    private mutating func continueBlock(_ fragment: Span<UInt8>, isWhole: Bool) {
        guard var open = openBlock else { return }
        openBlock = nil
        open.frames += 1
        // An endless header block is an attack (CVE-2024-27316 and its relatives).
        guard open.bytes.count + fragment.count <= ConnectionLimits.blockBytes,
            open.frames <= ConnectionLimits.continuations
        else { return violate(ErrorCode.enhanceYourCalm) }
        open.bytes.append(span: fragment)
        if isWhole {
            readBlock(open.bytes.span, open.stream, ends: open.ends)
        } else {
            openBlock = open
        }
    }

    private mutating func readBlock(_ block: Span<UInt8>, _ stream: UInt32, ends: Bool) {
        do {
            // Of a closed stream, too: the tables must agree (RFC 9113 §4.3).
            try decoder.decode(block, into: &list)
        } catch {
            return violate(ErrorCode.compression)
        }
        guard let place = streams.find(stream) else { return }
        if streams[place].status != 0 {
            // Trailers end the answer (RFC 9113 §8.1).
            return ends ? complete(stream, at: place) : refuse(stream)
        }
        guard let head = AnswerHead(list, wallSeconds: wallSeconds) else { return refuse(stream) }
        if head.status < 200 {
            // RFC 9110 §15.2: interim; the answer is still to come.
            return ends ? refuse(stream) : ()
        }
        streams[place].status = head.status
        streams[place].retryAfter = head.retryAfter
        if ends { complete(stream, at: place) }
    }

    private mutating func receiveData(
        _ stream: UInt32, _ body: Span<UInt8>, flow: Int, ends: Bool
    ) {
        guard wasOpened(stream) else { return violate(ErrorCode.protocolError) }
        receiveWindow -= flow
        guard receiveWindow >= 0 else { return violate(ErrorCode.flowControl) }
        if receiveWindow <= ConnectionLimits.window / 2 {
            let increment = UInt32(ConnectionLimits.window - receiveWindow)
            send { FrameWriter.windowUpdate(stream: 0, increment: increment, into: &$0) }
            receiveWindow = ConnectionLimits.window
        }
        guard let place = streams.find(stream) else { return }
        guard streams[place].status != 0 else { return refuse(stream) }
        let before = Int(streams[place].received)
        // Below 4 KiB and a frame of 16 KiB.
        streams[place].received += UInt16(body.count)
        if streams[place].status >= 300 {
            let kept = min(body.count, ConnectionLimits.bodyBytes - before)
            if kept > 0 {
                bodies[stream, default: []].append(span: body.extracting(0..<kept))
            }
        }
        if ends { return complete(stream, at: place) }
        // Nobody waits for the rest: the status and the first 4 KiB say it all. This stays well
        // within the stream's own window, which is therefore never refilled.
        guard before + body.count >= ConnectionLimits.bodyBytes else { return }
        send { FrameWriter.reset(stream: stream, code: ErrorCode.cancel, into: &$0) }
        complete(stream, at: place)
    }

    /// The answer is in.
    private mutating func complete(_ stream: UInt32, at place: Int) {
        let answer = streams[place]
        var body = PushBody.empty
        if !bodies.isEmpty, let bytes = bodies[stream] {
            body = PushBody(start: UInt32(outcomes.bodies.count), count: UInt32(bytes.count))
            outcomes.bodies.append(contentsOf: bytes)
        }
        outcomes.append(
            answer.reference,
            .answered(status: answer.status, retryAfter: answer.retryAfter, body: body),
            connection: serial)
        if !isProven { isProven = provesCredential(answer.status) }
        if !blocked.isEmpty, blocked.contains(where: { $0.stream == stream }) {
            // RFC 9113 §8.1: answered before the request was sent whole.
            send { FrameWriter.reset(stream: stream, code: ErrorCode.cancel, into: &$0) }
        }
        close(stream, at: place)
    }

    /// 401 and 403 are about our credential; 429 and 5xx say nothing about it.
    private func provesCredential(_ status: UInt16) -> Bool {
        status < 500 && status != 401 && status != 403 && status != 429
    }

    /// The answer is malformed (RFC 9113 §8.1.1): an error of its stream alone.
    private mutating func refuse(_ stream: UInt32) {
        send { FrameWriter.reset(stream: stream, code: ErrorCode.protocolError, into: &$0) }
        giveUp(stream, isSafe: false)
    }

    private mutating func receiveReset(_ stream: UInt32, _ code: UInt32) {
        guard wasOpened(stream) else { return violate(ErrorCode.protocolError) }
        // RFC 9113 §8.7: a refused stream was not processed.
        giveUp(stream, isSafe: code == ErrorCode.refusedStream)
    }

    private mutating func receiveGoAway(_ last: UInt32, _ code: UInt32) {
        goAwayCode = code
        // RFC 9113 §6.8: streams above `last` were not and will not be processed.
        for stream in streams.ids(where: { $0.id > last }) { giveUp(stream, isSafe: true) }
        endIfDrained()
    }
}
