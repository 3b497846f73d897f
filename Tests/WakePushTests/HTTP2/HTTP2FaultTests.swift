import TestSupport
import Testing
import WakeSystem

@testable import WakePush

/// Peers that break the protocol, fall silent or write noise.
struct HTTP2FaultTests {
    struct Violation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: UInt32
        let frames: @Sendable (inout [UInt8]) -> Void
    }

    static let violations: [Violation] = [
        Violation(testDescription: "an even stream", code: ErrorCode.protocolError) {
            FrameWriter.headers(stream: 2, block: [0x88], ends: true, into: &$0)
        },
        Violation(testDescription: "a stream never opened", code: ErrorCode.protocolError) {
            FrameWriter.headers(stream: 99, block: [0x88], ends: true, into: &$0)
        },
        Violation(testDescription: "data on a stream never opened", code: ErrorCode.protocolError) {
            FrameWriter.data(stream: 99, body: [1], ends: true, into: &$0)
        },
        Violation(testDescription: "a reset of an idle stream", code: ErrorCode.protocolError) {
            FrameWriter.reset(stream: 99, code: 0, into: &$0)
        },
        Violation(testDescription: "a promise", code: ErrorCode.protocolError) {
            FrameWriter.head(length: 4, kind: FrameKind.pushPromise, flags: 4, stream: 3, into: &$0)
            $0.append(bigEndian: UInt32(2))
        },
        Violation(testDescription: "a lone continuation", code: ErrorCode.protocolError) {
            FrameWriter.continuation(stream: 3, block: [0x88], isWhole: true, into: &$0)
        },
        Violation(testDescription: "a ping within a header block", code: ErrorCode.protocolError) {
            FrameWriter.headers(stream: 3, block: [0x88], isWhole: false, ends: true, into: &$0)
            FrameWriter.ping(1, acknowledges: false, into: &$0)
        },
        Violation(testDescription: "a broken header block", code: ErrorCode.compression) {
            FrameWriter.headers(stream: 3, block: [0xff], ends: true, into: &$0)
        },
        Violation(testDescription: "an endless header block", code: ErrorCode.enhanceYourCalm) {
            FrameWriter.headers(stream: 3, block: [], isWhole: false, ends: true, into: &$0)
            for _ in 0..<200 {
                FrameWriter.continuation(stream: 3, block: [], isWhole: false, into: &$0)
            }
        },
        Violation(testDescription: "a frame too long", code: ErrorCode.frameSize) {
            FrameWriter.head(length: 16_385, kind: 0, flags: 0, stream: 3, into: &$0)
        },
        Violation(testDescription: "settings cut short", code: ErrorCode.frameSize) {
            FrameWriter.head(length: 5, kind: FrameKind.settings, flags: 0, stream: 0, into: &$0)
        },
        Violation(testDescription: "an initial window too large", code: ErrorCode.flowControl) {
            FrameWriter.settings([(4, 0x8000_0000)], into: &$0)
        },
        Violation(testDescription: "a frame size too small", code: ErrorCode.protocolError) {
            FrameWriter.settings([(5, 100)], into: &$0)
        },
        Violation(testDescription: "an empty window update", code: ErrorCode.protocolError) {
            FrameWriter.windowUpdate(stream: 0, increment: 0, into: &$0)
        },
        Violation(testDescription: "a window that overflows", code: ErrorCode.flowControl) {
            FrameWriter.windowUpdate(stream: 0, increment: 0x7fff_ffff, into: &$0)
        },
        Violation(testDescription: "pings without end", code: ErrorCode.enhanceYourCalm) {
            for _ in 0..<40_000 { FrameWriter.ping(1, acknowledges: false, into: &$0) }
        },
    ]

    @Test(
        "whoever breaks the protocol is told so, and every push comes back", arguments: violations)
    func violation(_ violation: Violation) {
        var peer = HTTP2Peer.proven()
        let count = peer.fill(from: 1, atMost: 5)
        peer.write(violation.frames)
        #expect(peer.errorCode == violation.code)
        #expect(peer.take().map(\.outcome) == Array(repeating: .retry(.unknown), count: count))
        peer.read()
        guard case .goAway(0, violation.code, let debug) = peer.frames.last else {
            Issue.record("no GOAWAY with its code")
            return
        }
        #expect(debug.isEmpty)
    }

    @Test("a server that does not begin with settings is none")
    func noSettings() {
        var peer = HTTP2Peer(settings: nil)
        peer.write { FrameWriter.ping(1, acknowledges: false, into: &$0) }
        #expect(peer.errorCode == ErrorCode.protocolError)
    }

    @Test("a ping is acknowledged with its own bytes")
    func ping() {
        var peer = HTTP2Peer.proven()
        peer.write { FrameWriter.ping(0x0102_0304_0506_0708, acknowledges: false, into: &$0) }
        peer.read()
        #expect(peer.frames == [.pingAcknowledged(0x0102_0304_0506_0708)])
    }

    @Test("a silent connection is asked once, then given up with all it holds")
    func stall() {
        var peer = HTTP2Peer.proven()
        _ = peer.fill(from: 1, atMost: 3)
        peer.connection.tick(now: 1000 + 4999, isQueued: false)
        peer.read()
        #expect(peer.frames.isEmpty)
        peer.connection.tick(now: 1000 + 5000, isQueued: false)
        peer.connection.tick(now: 1000 + 6000, isQueued: false)
        peer.read()
        #expect(peer.frames.count == 1)
        peer.connection.tick(now: 1000 + 10_000, isQueued: false)
        #expect(peer.connection.end == .stalled)
        #expect(peer.take().count == 3)
    }

    @Test("one stream without an answer is reset; the connection lives on")
    func lateStream() {
        var peer = HTTP2Peer.proven()
        _ = peer.fill(from: 1, atMost: 2)
        // Slow services answer after half a minute: PING shows that the connection lives.
        for second in 1...44 {
            peer.now = 1000 + UInt64(second) * 1000
            peer.write { FrameWriter.ping(1, acknowledges: true, into: &$0) }
            peer.connection.tick(now: peer.now, isQueued: false)
            #expect(peer.take().isEmpty)
        }
        peer.answer(5)
        peer.connection.tick(now: 1000 + 45_000, isQueued: false)
        peer.read()
        #expect(peer.frames.contains(.reset(stream: 3, code: ErrorCode.cancel)))
        #expect(peer.connection.end == nil)
        #expect(peer.take().map(\.outcome) == [answered(200), .retry(.unknown)])
        peer.answer(3)
        #expect(peer.take().isEmpty)
    }

    @Test("two streams in a row without an answer end a connection that has accepted nothing")
    func unproven() {
        var peer = HTTP2Peer()
        for push in [1, 2] as [UInt64] {
            #expect(peer.connection.end == nil)
            peer.push(push)
            for _ in 0..<45 {
                peer.now += 1000
                peer.write { FrameWriter.ping(1, acknowledges: true, into: &$0) }
                peer.connection.tick(now: peer.now, isQueued: true)
            }
            #expect(peer.take().map(\.outcome) == [.retry(.unknown)])
        }
        #expect(peer.connection.end == .stalled)
    }

    @Test(
        "a connection that gives no room for waiting pushes is given up, however alive it is",
        arguments: ["streams", "window"])
    func noRoom(_ kind: String) {
        var peer = HTTP2Peer.proven()
        if kind == "streams" {
            peer.write { FrameWriter.settings([(id: 0x3, value: 0)], into: &$0) }
        } else {
            while peer.connection.room > 0 {
                peer.push(7)
                peer.answer(peer.connection.nextStream - 2)
            }
            _ = peer.take()
        }
        #expect(peer.connection.room == 0)
        for _ in 0..<20 {
            peer.connection.tick(now: peer.now, isQueued: true)
            #expect(peer.connection.end == nil)
            peer.now += 1000
            peer.write { FrameWriter.ping(1, acknowledges: true, into: &$0) }
        }
        peer.connection.tick(now: peer.now, isQueued: true)
        #expect(peer.connection.end == .stalled)
    }

    @Test("an idle connection is not a silent one")
    func idle() {
        var peer = HTTP2Peer.proven()
        peer.connection.tick(now: 1_000_000, isQueued: false)
        peer.connection.tick(now: 2_000_000, isQueued: false)
        #expect(peer.connection.end == nil)
        peer.push(1)
        peer.connection.tick(now: 2_000_500, isQueued: false)
        #expect(peer.connection.end == nil)
    }

    /// A whole conversation: settings, answers of every kind, a goodbye.
    private var script: [UInt8] {
        var bytes: [UInt8] = []
        FrameWriter.settings([(3, 100), (4, 1000)], into: &bytes)
        FrameWriter.headers(stream: 1, block: [0x88], ends: true, into: &bytes)
        FrameWriter.windowUpdate(stream: 0, increment: 1000, into: &bytes)
        FrameWriter.headers(stream: 3, block: [0x8c], isWhole: false, ends: false, into: &bytes)
        FrameWriter.continuation(stream: 3, block: [0x40, 1, 0x61, 0], isWhole: true, into: &bytes)
        FrameWriter.data(stream: 3, body: Array("reason".utf8)[...], ends: true, into: &bytes)
        FrameWriter.ping(5, acknowledges: false, into: &bytes)
        FrameWriter.reset(stream: 5, code: ErrorCode.refusedStream, into: &bytes)
        FrameWriter.goAway(
            lastStream: 7, code: 0, debug: Array(#"{"reason":"Shutdown"}"#.utf8), into: &bytes)
        FrameWriter.headers(stream: 7, block: [0xbe, 0x88], ends: true, into: &bytes)
        FrameWriter.headers(stream: 7, block: [0x88], ends: true, into: &bytes)
        return bytes
    }

    /// Feeds `bytes` in pieces; between pieces pushes are made until four are.
    private func run(_ bytes: [UInt8], cuts: [Int]) -> (PushConnection, PushOutcomes) {
        let letter: [UInt8] = [0x61]
        var connection = PushConnection(HTTP2Peer.shape, now: 0)
        connection.receive(bytes, count: 21, now: 0)
        connection.push(1, token: letter.span)
        connection.receive(Array(bytes[21..<31]), count: 10, now: 0)
        for reference in 2...4 where connection.room > 0 {
            connection.push(UInt64(reference), token: letter.span)
        }
        var start = 31
        for cut in cuts + [bytes.count] where cut > start {
            connection.receive(Array(bytes[start..<cut]), count: cut - start, now: 0)
            start = cut
        }
        var all = PushOutcomes()
        connection.takeOutcomes(into: &all)
        return (connection, all)
    }

    @Test("a conversation means the same however it is cut")
    func everySplit() {
        let script = script
        let (whole, outcomes) = run(script, cuts: [])
        #expect(outcomes.results.count == 4)
        #expect(whole.end != nil)
        for first in 31..<script.count {
            for second in stride(from: first, to: script.count, by: 7) {
                let (connection, some) = run(script, cuts: [first, second])
                #expect(some.results == outcomes.results && some.bodies == outcomes.bodies)
                #expect(connection.end == whole.end)
                #expect(connection.outputBytes.bytes == whole.outputBytes.bytes)
            }
        }
    }
}
