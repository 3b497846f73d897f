package import WakeModel
import WakeSystem

/// Wakes the push tokens of one environment of APNs.
package struct APNsGateway: Gateway, EngineService {
    package let service: PushService
    package let connections: Int
    private let endpoint: GatewayEndpoint
    let tokens: APNsTokenProvider

    /// - Parameter service: `apns` or `apnsSandbox`.
    package init?(
        _ service: PushService, _ configuration: APNsConfiguration, tokens: APNsTokenProvider
    ) {
        guard let endpoint = configuration.endpoint(service) else { return nil }
        self.service = service
        self.endpoint = endpoint
        self.tokens = tokens
        connections = configuration.options.connections
    }

    /// Anybody may register a token of the sandbox, and a released app has no others there: a few
    /// refusals are no alarm.
    var suspiciousRefusals: Int { service == .apnsSandbox ? 32 : 1 }

    static var tokenBytes: Int { 64 }

    func engine(authorization: [UInt8], lifetime: Int, now: ClockReading) -> EngineConfiguration {
        let request = APNsRequest(endpoint, topic: tokens.topic, now: now.wall, lifetime: lifetime)
        return endpoint.engine(
            request.template(authorization: authorization), connections: connections)
    }

    static func append(_ token: Span<UInt8>, inOtherForm: Bool, to text: inout [UInt8]) {
        Hex.append(token, to: &text)
    }

    static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        APNsResponses.verdict(status: status, body: body)
    }
}
