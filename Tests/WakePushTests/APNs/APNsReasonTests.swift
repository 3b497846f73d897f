import Testing
import WakeSystem

@testable import WakePush

@Suite("The reason in an answer of APNs")
struct APNsReasonTests {
    @Test("every reason is read from its word", arguments: APNsReason.allCases)
    func words(_ reason: APNsReason) {
        #expect(Self.read(#"{"reason":"\#(reason.rawValue)"}"#) == reason)
        #expect(Self.read(#"{"reason":"\#(reason.rawValue)","timestamp":1700000000000}"#) == reason)
        #expect(Self.read(#" { "id" : "x" , "reason" : "\#(reason.rawValue)" } "#) == reason)
    }

    @Test(
        "anything but an object with a known reason is no reason",
        arguments: [
            "", " ", "{}", "null", "[]", "\"Unregistered\"", #"{"reason":null}"#,
            #"{"reason":["Unregistered"]}"#, #"{"reason":{"reason":"Unregistered"}}"#,
            #"{"Reason":"Unregistered"}"#, #"{"reason":"unregistered"}"#,
            #"{"reason":"Unregistered "}"#, #"{"reason":"Unregistered"}x"#,
            #"{"reason":"Unregistered"}{"reason":"Unregistered"}"#,
            #"{"reason":"Unregistered","reason":"BadTopic"}"#,
            #"{"reason":"Unregistered","a":[1]}"#, #"{"reason":"Unregistered","a":1.5}"#,
            #"{"reason":"Unregistered",}"#, #"{"reason":"Unregistered\u0000"}"#,
            "{\"reason\":\"Unregistered\"\u{0}}", "<html>Unregistered</html>",
            "\u{FEFF}{\"reason\":\"Unregistered\"}",
        ])
    func refused(_ body: String) {
        #expect(Self.read(body) == nil)
    }

    @Test("a body cut short at any point is no reason")
    func everyCut() {
        let body = Array(#"{"reason":"Unregistered","timestamp":1700000000000}"#.utf8)
        for count in body.indices {
            #expect(Self.read(Array(body.prefix(count))) == nil)
        }
        #expect(Self.read(body) == .unregistered)
    }

    @Test("a body of 4096 bytes is read, a longer one is not")
    func limit() {
        let body = Array(#"{"reason":"Unregistered"}"#.utf8)
        let padded = body + [UInt8](repeating: 0x20, count: 4096 - body.count)
        #expect(Self.read(padded) == .unregistered)
        #expect(Self.read(padded + [0x20]) == nil)
    }

    @Test("random and damaged bodies never make a reason out of nothing")
    func hostile() {
        var generator = SystemRandomNumberGenerator()
        let body = Array(#"{"reason":"Unregistered","timestamp":1}"#.utf8)
        for _ in 0..<20_000 {
            var damaged = body
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                damaged[Int.random(in: 0..<damaged.count, using: &generator)] =
                    .random(in: 0...255, using: &generator)
            }
            if Self.read(damaged) != nil {
                // Only damage outside the member may leave it readable.
                #expect(damaged.starts(with: Array(#"{"reason":"Unregistered""#.utf8)))
            }
            let noise = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            #expect(Self.read(noise) == nil)
        }
    }

    private static func read(_ body: String) -> APNsReason? { read(Array(body.utf8)) }
    private static func read(_ body: [UInt8]) -> APNsReason? { APNsReason(body: body.span) }
}
