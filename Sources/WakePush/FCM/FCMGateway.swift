package import WakeModel
import WakeSystem

package struct FCMGateway: Gateway, EngineService {
    package let connections: Int
    package let perMinute: Int?
    private let endpoint: GatewayEndpoint
    let tokens: FCMTokenProvider

    package init(_ configuration: FCMConfiguration, tokens: FCMTokenProvider) {
        endpoint = configuration.endpoint
        connections = configuration.options.connections
        perMinute = configuration.perMinute
        self.tokens = tokens
    }

    package var service: PushService { .fcm }

    /// Those of today have 140 to 170.
    static var tokenBytes: Int { 168 }

    static func leastWait(after cause: RetryCause) -> Int {
        cause == .throttled ? FCMResponses.throttledSeconds : 0
    }

    func engine(authorization: [UInt8], lifetime: Int, now: ClockReading) -> EngineConfiguration {
        let request = FCMRequest(endpoint, projectID: tokens.projectID, lifetime: lifetime)
        return endpoint.engine(
            request.template(authorization: authorization), connections: connections)
    }

    static func form(_ token: Span<UInt8>) -> [UInt8] { FCMRequest.escaped(token) }

    static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        FCMResponses.verdict(status: status, body: body)
    }
}
