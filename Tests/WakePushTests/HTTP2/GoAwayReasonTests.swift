import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("Why a peer ended a connection")
struct GoAwayReasonTests {
    private func reason(_ code: UInt32, _ debug: String = "") -> GoAwayReason {
        GoAwayReason(code: code, debug: Array(debug.utf8).span)
    }

    @Test("without a reason the error code has its name in RFC 9113, section 7")
    func codes() {
        let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL",
            "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ]
        #expect((0..<14).map { reason($0).rawValue } == names)
        for code in [14, 15, 0x1000, .max - 1, .max] as [UInt32] {
            #expect(reason(code) == .other)
        }
    }

    @Test("a reason of Apple's goes before the code", arguments: [0, 1, 11, .max] as [UInt32])
    func reasons(code: UInt32) {
        for known in GoAwayReason.allCases where known.rawValue.first?.isUppercase == true {
            let isCode = known.rawValue.contains("_") || known == .cancel
            let found = reason(code, #"{"reason":"\#(known.rawValue)","timestamp":1700000000000}"#)
            #expect(isCode ? found == reason(code, #"{"reason":"x"}"#) : found == known)
        }
    }

    @Test("whatever else is in the debug data, it is not told")
    func others() {
        let texts = [
            #"{"reason":"https://push.example.net/secret"}"#, #"{"reason":"badcertificate"}"#,
            #"{"reason":"BadCertificate "}"#, #"{"reason":""}"#, #"{"reason":"none"}"#,
            #"{"reason":"\#(String(repeating: "a", count: 4000))"}"#,
        ]
        for text in texts {
            #expect(reason(0, text) == .other)
            #expect(reason(11, text) == .enhanceYourCalm)
        }
        let bad = [
            "BadCertificate", #"{"reason":7}"#, #"{"reason":["BadCertificate"]}"#,
            #"{"reason":"BadCertificate""#, #"{"reason":"BadCertificate"}x"#, "[]", "null", "{}",
            #"{"cause":"BadCertificate"}"#, #"{"a":{"reason":"BadCertificate"}}"#,
            #"{"reason":"BadCertificate","reason":"BadCertificate"}"#,
            #"{"reason":"BadCertificate","x":"\#(String(repeating: "a", count: 5000))"}"#,
        ]
        for text in bad {
            #expect(reason(0, text) == .noError, "\(text.prefix(40))")
            #expect(reason(2, text) == .internalError)
        }
    }

    @Test("noise and damaged reasons give names of the list, and no trap")
    func noise() {
        var random = SplitMix64(seed: 31)
        let whole = Array(#"{"reason":"IdleTimeout","timestamp":1700000000000}"#.utf8)
        for _ in 0..<20_000 {
            var debug = whole
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                debug[Int.random(in: 0..<debug.count, using: &random)] =
                    UInt8.random(in: 0...255, using: &random)
            }
            debug.removeLast(Int.random(in: 0...4, using: &random))
            let found = GoAwayReason(code: 0, debug: debug.span)
            #expect([.noError, .other, .idleTimeout].contains(found))
        }
    }

    @Test("a gateway that stops says it, with a hint, in constants alone")
    func message() {
        for reason in GoAwayReason.allCases {
            let failure = GatewayFailure.unavailable(.closed(reason), .apns)
            #expect("\(failure.name)" == "unreachable" && failure.goAway == reason)
            let lines = failure.message.split(separator: "\n")
            #expect(lines.count == 2 && lines[1].hasPrefix("hint: "))
            #expect(lines[0].hasSuffix("; last GOAWAY: \(reason.rawValue)"))
        }
        #expect(GatewayFailure.unavailable(.unreachable, .apns).goAway == nil)
        #expect(GatewayFailure.misconfigured(.apns(.forbidden)).goAway == nil)
    }
}
