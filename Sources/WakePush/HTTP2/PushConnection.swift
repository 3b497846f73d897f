/// One HTTP/2 connection that sends pushes, as a value: bytes and pushes go in; bytes to send and
/// outcomes come out. It reads no clock and owns no socket.
package struct PushConnection: Sendable {
    /// Which of its engine's connections this is; comes back with every outcome.
    let serial: UInt32
    private let limits: ConnectionLimits
    var encoder: RequestEncoder
    var decoder = HPACKDecoder()
    var peer = PeerSettings()
    var streams: StreamTable
    var nextStream: UInt32

    /// Bytes to send; those before `sent` have been.
    private(set) var output: [UInt8] = []
    private(set) var sent = 0
    /// Bytes of a frame that is not complete.
    private var partial: [UInt8] = []

    package internal(set) var outcomes = PushOutcomes()
    package private(set) var end: ConnectionEnd?

    var hasSettings = false
    /// The service has accepted our credential: Apple allows one stream until then.
    var isProven = false
    var goAwayCode: UInt32?
    var isFinishing = false

    /// What we may still send: on all streams together (RFC 9113 §6.9).
    var sendWindow = 65_535
    var blocked: [BlockedBody] = []
    var receiveWindow = ConnectionLimits.window

    /// A header block whose CONTINUATION is awaited.
    var openBlock: OpenBlock?
    var list = HeaderList()
    /// Bodies of answers that are not complete.
    var bodies: [UInt32: [UInt8]] = [:]

    /// Seconds since 1970 when `now` was 0.
    private let wallOrigin: Int64
    var now: UInt64
    private var lastReceived: UInt64
    private var lastPing: UInt64 = 0

    struct BlockedBody: Sendable {
        var stream: UInt32
        var body: [UInt8]
        var sent = 0
        var window: Int
    }

    struct OpenBlock: Sendable {
        var stream: UInt32
        var bytes: [UInt8]
        var ends: Bool
        var frames = 0
    }

    /// - Parameter firstStream: odd.
    /// - Parameter wallSeconds: seconds since 1970 at `now`.
    /// - Parameter now: milliseconds of a clock that never goes back.
    package init(
        _ shape: RequestShape, limits: ConnectionLimits = ConnectionLimits(),
        firstStream: UInt32 = 1, serial: UInt32 = 0, wallSeconds: Int64 = 0, now: UInt64
    ) {
        precondition(firstStream % 2 == 1, "clients open odd streams (RFC 9113 §5.1.1)")
        precondition(limits.streams > 0, "a connection without streams sends nothing")
        self.serial = serial
        self.limits = limits
        encoder = RequestEncoder(shape)
        streams = StreamTable(capacity: limits.streams)
        nextStream = firstStream
        lastReceived = now
        wallOrigin = wallSeconds - Int64(now / 1000)
        self.now = now
        output.append(contentsOf: FrameWriter.preface)
        // We ask for an empty table and no server push; the rest are the protocol's own values.
        FrameWriter.settings(
            [(PeerSettings.ID.tableSize, 0), (PeerSettings.ID.enablePush, 0)], into: &output)
        FrameWriter.windowUpdate(
            stream: 0, increment: UInt32(ConnectionLimits.window - 65_535), into: &output)
    }

    // MARK: Pushing

    /// How many pushes may be given right now.
    package var room: Int {
        guard end == nil, hasSettings, goAwayCode == nil, !isFinishing,
            nextStream <= 0x7fff_ffff, blocked.count < ConnectionLimits.blockedStreams,
            sendWindow > 0
        else { return 0 }
        // Apple: one stream until a request with a valid token was answered.
        let limit = min(isProven ? limits.streams : 1, peer.concurrentStreams)
        return max(0, limit - streams.count)
    }

    /// Opens a stream for one push; only while there is room.
    package mutating func push(_ reference: UInt64, token: Span<UInt8>) {
        let stream = nextStream
        nextStream += 2
        // Silence counts from when an answer is due.
        if streams.count == 0 { lastReceived = max(lastReceived, now) }
        streams.insert(stream, reference: reference, openedAt: now)
        let count = encoder.bodyCount(token: token.count)
        guard count > min(sendWindow, peer.initialWindow) else {
            sendWindow -= count
            encoder.append(stream: stream, token: token, into: &output)
            return
        }
        encoder.appendHeaders(stream: stream, token: token, into: &output)
        blocked.append(
            BlockedBody(
                stream: stream, body: encoder.body(token: token), window: peer.initialWindow))
        sendBlocked()
    }

    /// Pushes in flight.
    package var inFlight: Int { streams.count }

    /// The peer owes us something: an answer, or its first words.
    var awaits: Bool { end == nil && (!hasSettings || streams.count > 0) }

    package mutating func setAuthorization(_ value: [UInt8]) {
        encoder.setAuthorization(value)
    }

    /// Takes no more pushes; ends once the last answer is in.
    package mutating func finish() {
        isFinishing = true
        endIfDrained()
    }

    // MARK: Sending

    package var outputCount: Int { output.count - sent }

    /// What is to be sent, from `offset` on.
    package var outputBytes: (bytes: [UInt8], offset: Int) { (output, sent) }

    /// Sent bytes that stay in front of unsent ones at most.
    private static let keptBytes = 65_536

    /// `count` bytes have left.
    package mutating func didSend(_ count: Int) {
        precondition(count <= outputCount, "more sent than there was")
        sent += count
        if sent == output.count {
            output.removeAll(keepingCapacity: true)
        } else if sent >= Self.keptBytes {
            // A peer that always leaves a little would else make this grow for ever.
            output.removeFirst(sent)
        } else {
            return
        }
        sent = 0
    }

    mutating func send(_ write: (inout [UInt8]) -> Void) { write(&output) }

    // MARK: Receiving

    /// Takes the first `count` of `bytes` off the wire.
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

    /// The peer closed the transport, or it failed.
    package mutating func transportEnded() { end(.lost) }

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

    // MARK: Ending

    /// Tells the peer why, and ends.
    mutating func violate(_ code: UInt32) {
        guard end == nil else { return }
        FrameWriter.goAway(lastStream: 0, code: code, into: &output)
        end(.violation(code))
    }

    mutating func end(_ reason: ConnectionEnd) {
        guard end == nil else { return }
        end = reason
        for stream in streams.ids(where: { _ in true }) { giveUp(stream, isSafe: false) }
        blocked = []
        bodies = [:]
    }

    mutating func giveUp(_ stream: UInt32, isSafe: Bool) {
        guard let place = streams.find(stream) else { return }
        outcomes.append(
            streams[place].reference, .retry(isSafe: isSafe), connection: serial)
        close(stream, at: place)
    }

    /// Forgets a stream whose outcome is known.
    mutating func close(_ stream: UInt32, at place: Int) {
        if !blocked.isEmpty { blocked.removeAll { $0.stream == stream } }
        if !bodies.isEmpty { bodies[stream] = nil }
        streams.remove(at: place)
        endIfDrained()
    }

    mutating func endIfDrained() {
        guard end == nil, streams.count == 0 else { return }
        if let code = goAwayCode {
            end(.goAway(code))
        } else if isFinishing {
            FrameWriter.goAway(lastStream: 0, code: ErrorCode.none, into: &output)
            end(.finished)
        } else if nextStream > 0x7fff_ffff {
            end(.exhausted)
        }
    }

    /// Hands over the outcomes so far.
    package mutating func takeOutcomes(into all: inout PushOutcomes) {
        guard !outcomes.results.isEmpty else { return }
        if all.results.isEmpty, all.bodies.isEmpty {
            swap(&all.results, &outcomes.results)
            swap(&all.bodies, &outcomes.bodies)
            return
        }
        let shift = UInt32(all.bodies.count)
        if outcomes.bodies.isEmpty {
            all.results.append(contentsOf: outcomes.results)
            outcomes.results.removeAll(keepingCapacity: true)
            return
        }
        for var result in outcomes.results {
            if case .answered(let status, let retryAfter, var body) = result.outcome {
                body.start += body.count > 0 ? shift : 0
                result.outcome = .answered(status: status, retryAfter: retryAfter, body: body)
            }
            all.results.append(result)
        }
        all.bodies.append(contentsOf: outcomes.bodies)
        outcomes.results.removeAll(keepingCapacity: true)
        outcomes.bodies.removeAll(keepingCapacity: true)
    }

    /// Overwrites what held push tokens.
    package mutating func wipe() { output.wipe() }

    // MARK: Time

    /// Seconds since 1970, as reckoned from the start of the connection.
    var wallSeconds: Int64 { wallOrigin + Int64(now / 1000) }

    mutating func advance(to now: UInt64) { self.now = max(self.now, now) }

    /// Looks for streams and connections that have waited too long; about once a second.
    package mutating func tick(now: UInt64) {
        advance(to: now)
        let silence = self.now - lastReceived
        guard awaits else { return lastReceived = self.now }
        if silence >= limits.answerMilliseconds { return end(.stalled) }
        if hasSettings, silence >= limits.answerMilliseconds / 2, lastPing <= lastReceived {
            lastPing = self.now
            FrameWriter.ping(0x7265_7665_696c_6c65, acknowledges: false, into: &output)
        }
        let limit = limits.answerMilliseconds
        let time = self.now
        for stream in streams.ids(where: { $0.age(now: time) >= limit }) {
            FrameWriter.reset(stream: stream, code: ErrorCode.cancel, into: &output)
            giveUp(stream, isSafe: false)
        }
    }
}
