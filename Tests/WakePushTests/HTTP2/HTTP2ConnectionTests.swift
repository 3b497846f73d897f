import Testing

@testable import WakePush

struct HTTP2ConnectionTests {
    private let concurrent: UInt16 = 3
    private let tableSize: UInt16 = 1
    private let window: UInt16 = 4

    @Test("nothing is pushed before the peer's settings, then one until an answer, then many")
    func slowStart() {
        var peer = HTTP2Peer(settings: nil)
        #expect(peer.connection.room == 0)
        peer.write { FrameWriter.settings([], into: &$0) }
        #expect(peer.connection.room == 1)
        peer.push(7)
        #expect(peer.connection.room == 0)
        peer.answer(1)
        #expect(peer.connection.room == 1000)
        #expect(peer.take() == [PushResult(reference: 7, outcome: answered(200))])
    }

    @Test("a refused credential proves nothing: still one at a time", arguments: ["403", "503"])
    func unproven(status: String) {
        var peer = HTTP2Peer()
        peer.push(1)
        peer.answer(1, status)
        #expect(peer.connection.room == 1)
    }

    @Test("requests carry the shape, by literal first and by index after")
    func requests() {
        var peer = HTTP2Peer.proven()
        peer.push(2, "bb")
        let expected = [
            ":method: POST", ":scheme: https", ":path: /3/device/bb", ":authority: push.example",
            "apns-topic: org.example.app", "apns-priority: 5", "authorization: bearer abc",
        ]
        #expect(peer.requests[3]?.fields == expected)
        #expect(peer.requests[3]?.body == Array("{\"aps\":{}}".utf8))
        #expect(peer.requests[3]?.isComplete == true)
        #expect(peer.decoder.tableCount == 3)
        peer.push(3, String(repeating: "c", count: 300))
        #expect(
            peer.requests[5]?.fields[2] == ":path: /3/device/" + String(repeating: "c", count: 300))
    }

    @Test("a new credential holds from the next push on", arguments: [false, true])
    func credential(isIndexed: Bool) {
        var shape = HTTP2Peer.shape
        shape.indexesAuthorization = isIndexed
        var peer = HTTP2Peer(shape)
        for round in 0..<200 {
            shape.authorization = Array("bearer \(round)".utf8)
            peer.connection.update(shape)
            for _ in 0..<2 {
                let stream = peer.connection.nextStream
                peer.push(1)
                #expect(peer.requests[stream]?.fields.last == "authorization: bearer \(round)")
                #expect(peer.requests[stream]?.fields.count == 7)
                peer.answer(stream)
            }
        }
        #expect(peer.connection.end == nil)
    }

    @Test("a new template holds from the next push on, and is in the peer's table after one push")
    func template() {
        var shape = HTTP2Peer.shape
        var peer = HTTP2Peer(shape)
        for round in 0..<200 {
            // The token's length, a field, its length and the body change.
            shape.fields[1] = .init("apns-expiration", String(repeating: "7", count: 1 + round % 9))
            shape.body = Array(repeating: 0x78, count: round % 3)
            peer.connection.update(shape)
            for token in ["aa", "aa", "bbb"] {
                let stream = peer.connection.nextStream
                peer.push(1, token)
                #expect(
                    peer.requests[stream]?.fields == [
                        ":method: POST", ":scheme: https", ":path: /3/device/\(token)",
                        ":authority: push.example", "apns-topic: org.example.app",
                        "apns-expiration: \(String(repeating: "7", count: 1 + round % 9))",
                        "authorization: bearer abc",
                    ])
                #expect(peer.requests[stream]?.body == shape.body)
                #expect(peer.requests[stream]?.isComplete == true)
                peer.answer(stream)
            }
        }
        #expect(peer.connection.end == nil)
    }

    @Test("a new template costs its fields once: the next requests are as short as before")
    func templateCost() {
        var shape = HTTP2Peer.shape
        var peer = HTTP2Peer(shape)
        var sizes: [Int] = []
        for round in 0..<12 {
            if round == 4 {
                shape.fields[1] = .init("apns-expiration", "1700000000")
                peer.connection.update(shape)
            }
            if round == 8 { peer.connection.update(shape) }
            let stream = peer.connection.nextStream
            peer.push(1)
            for case .headers(stream, let fragment, _, _) in peer.frames {
                sizes.append(fragment.count)
            }
            peer.answer(stream)
        }
        #expect(sizes.count == 12 && sizes[0] > sizes[1] && sizes[4] > sizes[1])
        let others = sizes.indices.filter { $0 != 0 && $0 != 4 }.map { sizes[$0] }
        #expect(Set(others) == [sizes[1]])
    }

    @Test("a peer's small table gets literals, and a larger one later is used again")
    func smallTable() {
        var peer = HTTP2Peer.proven()
        for size in [UInt32(0), 64, 4096, 150, 65_536] {
            peer.write { FrameWriter.settings([(tableSize, size)], into: &$0) }
            peer.read()
            peer.push(1)
            peer.push(2)
            let stream = peer.connection.nextStream - 2
            #expect(peer.requests[stream]?.fields.count == 7)
            #expect(peer.decoder.tableSize <= Int(size))
            #expect(peer.requests[stream] == peer.requests[stream - 2])
        }
        #expect(peer.decoder.tableCount == 3)
    }

    @Test("the number of streams follows the peer, down to one or none and up again")
    func concurrency() {
        var peer = HTTP2Peer.proven(settings: [(concurrent, 10)])
        #expect(peer.fill(from: 0) == 10)
        peer.write { FrameWriter.settings([(concurrent, 1)], into: &$0) }
        for stream in stride(from: UInt32(3), through: 19, by: 2) { peer.answer(stream) }
        #expect(peer.connection.room == 0)
        peer.answer(21)
        #expect(peer.connection.room == 1)
        peer.write { FrameWriter.settings([(concurrent, 0)], into: &$0) }
        #expect(peer.connection.room == 0)
        peer.write { FrameWriter.settings([(concurrent, 500)], into: &$0) }
        #expect(peer.connection.room == 500)
    }

    @Test("a used-up connection window stops, and an update continues within a body")
    func connectionWindow() {
        var peer = HTTP2Peer.proven()
        // 10 bytes a body: 65,535 are 6,553 bodies and a half.
        var stream: UInt32 = 3
        var sent = 1
        while peer.connection.room > 0 {
            peer.push(1)
            sent += 1
            if peer.requests[stream]?.isComplete == true { peer.answer(stream) }
            stream += 2
        }
        #expect(sent == 6554)
        #expect(peer.requests[stream - 2]?.body.count == 5)
        peer.write { FrameWriter.windowUpdate(stream: 0, increment: 2, into: &$0) }
        peer.read()
        #expect(peer.requests[stream - 2]?.body.count == 7)
        peer.write { FrameWriter.windowUpdate(stream: 0, increment: 100, into: &$0) }
        peer.read()
        #expect(peer.requests[stream - 2]?.isComplete == true)
        #expect(peer.connection.room > 0)
    }

    @Test("tiny stream windows split bodies, and may go below zero and back")
    func streamWindow() {
        var peer = HTTP2Peer(settings: [(window, 4)])
        peer.push(1)
        #expect(peer.requests[1]?.body.count == 4)
        peer.write { FrameWriter.settings([(window, 0)], into: &$0) }
        peer.write { FrameWriter.windowUpdate(stream: 1, increment: 3, into: &$0) }
        peer.read()
        #expect(peer.requests[1]?.body.count == 4)
        peer.write { FrameWriter.settings([(window, 2)], into: &$0) }
        peer.read()
        #expect(peer.requests[1]?.body.count == 5)
        peer.write { FrameWriter.settings([(window, 100)], into: &$0) }
        peer.read()
        #expect(peer.requests[1]?.isComplete == true)
        #expect(peer.requests[1]?.body == HTTP2Peer.shape.body)
    }

    @Test("an answer before the request has left entirely counts, and the stream is reset")
    func earlyAnswer() {
        var peer = HTTP2Peer(settings: [(window, 4)])
        peer.push(1)
        peer.answer(1, "413")
        #expect(peer.take().map(\.outcome) == [answered(413)])
        #expect(peer.frames.contains(.reset(stream: 1, code: ErrorCode.cancel)))
        #expect(peer.connection.end == nil)
    }

    @Test("a token may be in the body instead of the path")
    func bodyToken() {
        var shape = RequestTemplate(
            authority: "a", path: "/send", tokenPlace: .body, body: Array("<".utf8),
            bodyTail: Array(">".utf8))
        shape.scheme = "http"
        var peer = HTTP2Peer(shape)
        peer.push(1, "token")
        #expect(peer.requests[1]?.body == Array("<token>".utf8))
        #expect(
            peer.requests[1]?.fields
                == [":method: POST", ":scheme: http", ":path: /send", ":authority: a"])
    }
}
