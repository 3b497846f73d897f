package import WakeModel
import WakeSystem

package struct FCMGateway: Gateway, EngineService {
    package let connections: Int
    package let perMinute: Int?
    private let endpoint: GatewayEndpoint
    let tokens: FCMTokenProvider
    package let wakesTokens: Bool
    private let topic: FCMTopic?

    package init(_ configuration: FCMConfiguration, tokens: FCMTokenProvider) {
        endpoint = configuration.endpoint
        connections = configuration.options.connections
        perMinute = configuration.perMinute
        self.tokens = tokens
        wakesTokens = configuration.wakesTokens
        topic = configuration.topic
    }

    package var service: PushService { .fcm }
    package var topics: FCMTopics? { topic.map { FCMTopics($0, self) } }

    /// Registration tokens have 140 to 170.
    static var tokenBytes: Int { 176 }

    static func leastWait(after cause: RetryCause) -> Int {
        cause == .throttled ? FCMResponses.throttledSeconds : 0
    }

    func engine(authorization: [UInt8], lifetime: Int, now: ClockReading) -> EngineConfiguration {
        let request = FCMRequest(endpoint, projectID: tokens.projectID, lifetime: lifetime)
        return endpoint.engine(
            request.template(authorization: authorization), connections: connections)
    }

    static func append(_ token: Span<UInt8>, inOtherForm: Bool, to text: inout [UInt8]) {
        FCMRequest.append(token, isRetargeted: inOtherForm, to: &text)
    }

    static func blamesForm(_ verdict: Verdict) -> Bool { FCMResponses.blamesTarget(verdict) }

    static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        FCMResponses.verdict(status: status, body: body)
    }
}
