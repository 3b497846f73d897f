package import WakeModel
import WakeSystem

/// The topics of `[fcm]`: one message each wakes every app that subscribed itself, without a push
/// token (firebase.google.com, "Send messages to topics").
package struct FCMTopics: EngineService {
    /// Sent one after the other: as many topics share the apps, which each chose one at random.
    package let names: [PushToken]
    /// Between the beginnings of two messages.
    package let interval: Duration
    private let gateway: FCMGateway

    init(_ topic: FCMTopic, _ gateway: FCMGateway) {
        names = topic.names.compactMap { try? PushToken(service: .fcm, bytes: Array($0.utf8)) }
        interval = .seconds(topic.seconds) / names.count
        self.gateway = gateway
    }

    package var service: PushService { .fcm }
    var connections: Int { 1 }
    package var window: Int { 2 }
    var tokens: FCMTokenProvider { gateway.tokens }
    static var tokenBytes: Int { 32 }

    func engine(authorization: [UInt8], lifetime: Int, now: ClockReading) -> EngineConfiguration {
        var engine = gateway.engine(authorization: authorization, lifetime: lifetime, now: now)
        engine.connections = 1
        return engine
    }

    static func append(_ token: Span<UInt8>, inOtherForm: Bool, to text: inout [UInt8]) {
        text.append(contentsOf: "topic\":\"".utf8)
        text.append(span: token)
    }

    /// What blames a push token elsewhere blames the topic here.
    static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        let verdict = FCMResponses.verdict(status: status, body: body)
        guard verdict == .delivery(.gone) || FCMResponses.blamesTarget(verdict) else {
            return verdict
        }
        return .failure(.misconfigured(.fcm(.topicRefused)))
    }

    static func leastWait(after cause: RetryCause) -> Int { FCMGateway.leastWait(after: cause) }
}

/// The keys of `[fcm]` that are about topics.
package struct FCMTopic: Sendable, Equatable {
    let name: String
    package var shards = 1
    /// Seconds over which the shards' messages are sent.
    package var seconds = 60

    static let words = [
        SettingKey(
            "topic", "letters, digits and -_.~%",
            "Wake the subscribers of this topic: apps subscribe themselves."),
        SettingKey(
            "topic-shards", "a whole number from 1 to 64", usual: "1",
            "Topics named NAME-0, NAME-1 and so on, instead of NAME."),
        SettingKey(
            "topic-seconds", "a whole number from 0 to 3600", usual: "60",
            "Seconds over which the messages to the shards are sent."),
        SettingKey(
            "tokens", "on or off: whether push tokens are registered beside topic",
            "Without the key: on, and off where there is a `topic`."),
    ]

    init?(section: [String: String]) throws(GatewaySectionFault) {
        let values = SectionValues(section)
        guard let name = try values.value("topic", Self.name) else {
            if Self.words.contains(where: { section[$0.name] != nil }) { throw .missing("topic") }
            return nil
        }
        self.name = name
        shards = try values.number("topic-shards", in: 1...64) ?? shards
        seconds = try values.number("topic-seconds", in: 0...3600) ?? seconds
    }

    private static func name(_ text: String) -> String? {
        let isTopic =
            (1...200).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isAlphanumeric || "-_.~%".utf8.contains($0) }
        return isTopic ? text : nil
    }

    /// NAME itself, or NAME-0 and so on.
    var names: [String] { shards == 1 ? [name] : (0..<shards).map { "\(name)-\($0)" } }

    package var summary: String {
        "topic \(name)" + (shards == 1 ? "" : "-0 to -\(shards - 1) over \(seconds) s")
    }
}
