import Testing
import WakeSystem

@testable import WakePush

struct HTTP2AnswerTests {
    @Test("an error keeps its body and its delay; a success keeps neither")
    func bodies() {
        var peer = HTTP2Peer.proven()
        _ = peer.fill(from: 1, atMost: 3)
        peer.answer(3, "410", body: "{\"reason\":\"Unregistered\"}")
        peer.answer(5, "429", fields: [("retry-after", "17")], body: "slow")
        peer.answer(7, "200", body: "fine")
        let all = peer.takeAll()
        var texts: [String] = []
        for result in all.results {
            guard case .answered(let status, let retryAfter, let body) = result.outcome else {
                Issue.record("no answer")
                continue
            }
            let text = String(decoding: all.bytes(of: body), as: UTF8.self)
            texts.append("\(result.reference) \(status) \(retryAfter) \(text)")
        }
        #expect(texts == ["1 410 0 {\"reason\":\"Unregistered\"}", "2 429 17 slow", "3 200 0 "])
    }

    @Test(
        "a delay may be a date, against the service's clock or else ours",
        arguments: [
            ("Sun, 06 Nov 1994 08:50:37 GMT", nil, 40), ("Sunday, 06-Nov-94 08:49:57 GMT", nil, 0),
            ("Sun Nov  6 08:49:47 1994", "Sun, 06 Nov 1994 08:49:37 GMT", 10), ("soon", nil, 0),
        ] as [(String, String?, UInt32)])
    func dates(delay: String, date: String?, seconds: UInt32) {
        // 08:49:37, and 20 seconds later when the answer comes.
        var peer = HTTP2Peer.proven(wallSeconds: 784_111_777)
        peer.push(1)
        peer.now += 20_000
        peer.answer(
            3, "503", fields: [("retry-after", delay)] + (date.map { [("date", $0)] } ?? []))
        #expect(
            peer.take().map(\.outcome) == [
                .answered(status: 503, retryAfter: seconds, body: .empty)
            ])
    }

    @Test("a body beyond 4 KiB is cut there and its stream is reset")
    func longBody() {
        var peer = HTTP2Peer.proven()
        peer.push(1)
        var block: [UInt8] = []
        HPACKWriter.indexed(14, into: &block)
        peer.write { FrameWriter.headers(stream: 3, block: block, ends: false, into: &$0) }
        let part = [UInt8](repeating: 0x78, count: 3000)
        for _ in 0..<3 {
            peer.write { FrameWriter.data(stream: 3, body: part[...], ends: false, into: &$0) }
        }
        peer.read()
        #expect(peer.frames.contains(.reset(stream: 3, code: ErrorCode.cancel)))
        let results = peer.take()
        #expect(
            results.map(\.outcome) == [
                .answered(status: 500, retryAfter: 0, body: PushBody(start: 0, count: 4096))
            ])
        #expect(peer.connection.end == nil)
    }

    @Test("bodies of many answers never use up our window")
    func receiveWindow() {
        var peer = HTTP2Peer.proven()
        var granted = ConnectionLimits.window
        for number in 1...3000 {
            let stream = peer.connection.nextStream
            peer.push(UInt64(number))
            peer.answer(stream, "400", body: String(repeating: "x", count: 1000))
            for case .windowUpdate(stream: 0, let increment) in peer.frames {
                granted += Int(increment)
            }
        }
        #expect(peer.take().count == 3000)
        #expect(peer.connection.end == nil)
        #expect(granted - 3000 * 1000 > ConnectionLimits.window / 2)
    }

    @Test("a header block in parts, with Huffman and the dynamic table, is one answer")
    func continuation() {
        var peer = HTTP2Peer.proven()
        _ = peer.fill(from: 1, atMost: 2)
        var block: [UInt8] = []
        HPACKWriter.literal(
            name: Array(":status".utf8), value: Array("418".utf8), .incremental, into: &block)
        HPACKWriter.literal(
            name: Array("apns-id".utf8), value: Array("eabeae54-14a8".utf8), .incremental,
            into: &block)
        for index in block.indices {
            let isLast = index == block.count - 1
            let byte = [block[index]]
            peer.write {
                if index == 0 {
                    FrameWriter.headers(
                        stream: 3, block: byte, isWhole: false, ends: true, into: &$0)
                } else {
                    FrameWriter.continuation(
                        stream: 3, block: byte, isWhole: isLast, into: &$0)
                }
            }
        }
        peer.write { FrameWriter.headers(stream: 5, block: [0xbf, 0xbe], ends: true, into: &$0) }
        #expect(peer.take().map(\.outcome) == [answered(418), answered(418)])
    }

    @Test("interim answers are passed over, and trailers end an answer")
    func interimAndTrailers() {
        var peer = HTTP2Peer.proven()
        peer.push(1)
        peer.write {
            FrameWriter.headers(
                stream: 3, block: [0x48, 3, 0x31, 0x30, 0x30], ends: false, into: &$0)
            FrameWriter.headers(stream: 3, block: [0x88], ends: false, into: &$0)
            FrameWriter.headers(stream: 3, block: [0x40, 1, 0x61, 0], ends: true, into: &$0)
        }
        #expect(peer.take().map(\.outcome) == [answered(200)])
    }

    @Test(
        "a malformed answer is an error of its stream alone",
        arguments: [[UInt8](), [0x82], [0x48, 2, 0x32, 0x30], [0x48, 3, 0x78, 0x78, 0x78]])
    func malformed(block: [UInt8]) {
        var peer = HTTP2Peer.proven()
        _ = peer.fill(from: 1, atMost: 2)
        peer.write { FrameWriter.headers(stream: 3, block: block, ends: true, into: &$0) }
        peer.read()
        #expect(peer.frames.contains(.reset(stream: 3, code: ErrorCode.protocolError)))
        peer.answer(5)
        #expect(peer.take().map(\.outcome) == [.retry(.unknown), answered(200)])
    }

    @Test("a refused stream is safe to repeat, any other reset may have been seen")
    func resets() {
        var peer = HTTP2Peer.proven()
        _ = peer.fill(from: 1, atMost: 2)
        peer.write {
            FrameWriter.reset(stream: 3, code: ErrorCode.refusedStream, into: &$0)
            FrameWriter.reset(stream: 5, code: ErrorCode.internalError, into: &$0)
            FrameWriter.reset(stream: 5, code: ErrorCode.internalError, into: &$0)
        }
        #expect(peer.take().map(\.outcome) == [.retry(.refused), .retry(.unknown)])
        #expect(peer.connection.end == nil)
    }

    @Test("after a goodbye, later streams are safe to repeat and earlier ones still get answers")
    func goAway() {
        var peer = HTTP2Peer.proven()
        _ = peer.fill(from: 1, atMost: 3)
        peer.write { FrameWriter.goAway(lastStream: 5, code: 0, into: &$0) }
        #expect(peer.connection.room == 0)
        #expect(
            peer.take() == [PushResult(reference: 3, outcome: .retry(.unsent))])
        #expect(peer.connection.end == nil)
        peer.answer(3)
        peer.answer(5)
        #expect(peer.connection.end == .goAway(0))
        #expect(peer.take().map(\.outcome) == [answered(200), answered(200)])
    }

    @Test("the reason of a goodbye is kept wherever it is cut, and the last one holds")
    func goAwayReason() {
        var bytes: [UInt8] = []
        let debug = Array(#"{"reason":"TooManyRequests","timestamp":1700000000000}"#.utf8)
        FrameWriter.goAway(lastStream: 5, code: 11, debug: debug, into: &bytes)
        for cut in 0...bytes.count {
            var peer = HTTP2Peer.proven()
            _ = peer.fill(from: 1, atMost: 3)
            #expect(peer.connection.goAway == nil)
            peer.write { $0 += bytes[..<cut] }
            #expect((peer.connection.goAway != nil) == (cut == bytes.count))
            peer.write { $0 += bytes[cut...] }
            #expect(peer.connection.goAway == .tooManyRequests)
        }
        var peer = HTTP2Peer.proven()
        _ = peer.fill(from: 1, atMost: 3)
        peer.write { $0 += bytes }
        // As long as a frame may be, a byte at a time: nothing of it but its code is kept.
        bytes = []
        let long = [UInt8](repeating: 0x78, count: 16_376)
        FrameWriter.goAway(lastStream: 5, code: 0, debug: long, into: &bytes)
        for byte in bytes { peer.write { $0.append(byte) } }
        #expect(peer.connection.goAway == .noError && peer.connection.end == nil)
        peer.connection.transportEnded()
        #expect(peer.connection.end == .lost && peer.connection.goAway == .noError)
    }

    @Test("a lost connection gives every push in flight back")
    func lost() {
        var peer = HTTP2Peer.proven()
        let count = peer.fill(from: 1)
        peer.connection.transportEnded()
        #expect(peer.take().map(\.outcome) == Array(repeating: .retry(.unknown), count: count))
        #expect(peer.connection.room == 0)
    }

    @Test("when the ids run out, the connection drains and ends")
    func exhaustion() {
        var peer = HTTP2Peer(firstStream: 0x7fff_fffd)
        peer.push(1)
        peer.answer(0x7fff_fffd)
        #expect(peer.fill(from: 2) == 1)
        #expect(peer.connection.end == nil)
        peer.answer(0x7fff_ffff)
        #expect(peer.connection.end == .exhausted)
    }
}
