package import WakeModel

/// Wakes the push tokens of one environment of APNs.
package struct APNsGateway: Gateway, EngineService {
    package let service: PushService
    package let connections: Int
    private let endpoint: GatewayEndpoint
    private let team: APNsTeam

    /// - Parameter service: `apns` or `apnsSandbox`.
    package init?(_ service: PushService, _ configuration: APNsConfiguration, team: APNsTeam) {
        guard let endpoint = configuration.endpoint(service) else { return nil }
        self.service = service
        self.endpoint = endpoint
        self.team = team
        connections = configuration.reach.connections
    }

    package var window: Int { 2 * connections * ConnectionLimits().streams }

    package func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewayRound {
        EngineRound(self, lifetime: lifetime, report: report)
    }

    // MARK: For the engine

    static var tokenBytes: Int { 64 }

    /// Provider tokens are made here: there is nothing to wait for but time.
    func credential(
        at now: ClockReading, whenChanged: @escaping @Sendable () -> Void
    ) throws(GatewayFailure) -> Credential {
        try team.credential(at: now)
    }

    func note(_ news: CredentialNews, at now: ClockReading) throws(GatewayFailure) {
        try team.note(news, at: now)
    }

    func engine(
        authorization: [UInt8], lifetime: Int, now: ClockReading
    ) -> EngineConfiguration {
        let request = APNsRequest(
            endpoint, topic: team.topic, now: now.wall, lifetime: lifetime)
        return endpoint.engine(
            request.shape(authorization: authorization), connections: connections)
    }

    func append(_ token: PushToken, to batch: inout PushBatch) {
        token.bytes.withSpan { bytes in
            var text = Hex.encode(bytes)
            batch.append(text)
            wipe(&text)
        }
    }

    static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        APNsAnswers.verdict(status: status, body: body)
    }
}
