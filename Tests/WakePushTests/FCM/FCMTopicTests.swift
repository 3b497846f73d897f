import TestSupport
import Testing
import WakeModel

@testable import WakePush

@Suite("Topics of FCM")
struct FCMTopicTests {
    private static func names(_ section: [String: String]) throws -> [String]? {
        try FCMTopic(section: section)?.names
    }

    @Test("a topic has one message, or as many shards as were asked for")
    func names() throws {
        #expect(try Self.names([:]) == nil)
        #expect(try Self.names(["topic": "wake"]) == ["wake"])
        #expect(
            try Self.names(["topic": "a.b", "topic-shards": "3"]) == ["a.b-0", "a.b-1", "a.b-2"])
        #expect(try Self.names(["topic": "wake", "topic-shards": "64"])?.last == "wake-63")
    }

    @Test("names that FCM does not take, and keys without a topic, are refused")
    func mistakes() {
        for name in ["", "a b", "/topics/a", "a\"b", "ä", String(repeating: "a", count: 201)] {
            #expect(throws: GatewaySectionFault.badValue("topic")) {
                try FCMTopic(section: ["topic": name])
            }
        }
        for (key, value) in [("topic-shards", "4"), ("topic-seconds", "1"), ("tokens", "off")] {
            #expect(throws: GatewaySectionFault.missing("topic")) {
                try FCMTopic(section: [key: value])
            }
        }
        for (key, value) in [("topic-shards", "65"), ("topic-seconds", "3601")] {
            #expect(throws: GatewaySectionFault.badValue(key)) {
                try FCMTopic(section: ["topic": "a", key: value])
            }
        }
    }

    @Test("what blames a push token elsewhere is a fault of the topic here")
    func verdicts() {
        for body in [
            FCMBody.fcm("INVALID_ARGUMENT", 400), FCMBody.both("message.token"),
            FCMBody.badRequest("message.fid"), FCMBody.badRequest("message.topic"),
            FCMBody.both("message.topic"),
        ] {
            #expect(
                Self.verdict(400, body) == .failure(.misconfigured(.fcm(.topicRefused))))
        }
        #expect(
            Self.verdict(404, FCMBody.fcm("UNREGISTERED", 404))
                == .failure(.misconfigured(.fcm(.topicRefused))))
        #expect(Self.verdict(200, "") == .delivery(.accepted))
        #expect(Self.verdict(429, "") == .delivery(.retry(.throttled)))
        let name = Array("wake".utf8)
        var form: [UInt8] = []
        FCMTopics.append(name.span, inOtherForm: false, to: &form)
        #expect(form == Array(#"topic":"wake"#.utf8))
    }

    private static func verdict(_ status: Int, _ body: String) -> Verdict {
        FCMTopics.verdict(status: status, body: Array(body.utf8).span)
    }
}
