package import WakeModel

/// Wakes push tokens of FCM.
package struct FCMGateway: Gateway, EngineService {
    package let connections: Int
    package let perMinute: Int?
    private let endpoint: GatewayEndpoint
    private let account: FCMAccount

    package init(_ configuration: FCMConfiguration, account: FCMAccount) {
        endpoint = configuration.endpoint
        connections = configuration.reach.connections
        perMinute = configuration.perMinute
        self.account = account
    }

    package var service: PushService { .fcm }

    package var window: Int { 2 * connections * ConnectionLimits().streams }

    package func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewayRound {
        EngineRound(self, lifetime: lifetime, report: report)
    }

    // MARK: For the engine

    /// Those of today have 140 to 170.
    static var tokenBytes: Int { 168 }

    static func leastWait(after cause: RetryCause) -> Int {
        cause == .throttled ? FCMAnswers.throttledSeconds : 0
    }

    func credential(
        at now: ClockReading, whenChanged: @escaping @Sendable () -> Void
    ) throws(GatewayFailure) -> Credential {
        try account.credential(at: now, whenChanged: whenChanged)
    }

    func note(_ news: CredentialNews, at now: ClockReading) throws(GatewayFailure) {
        try account.note(news, at: now)
    }

    func engine(
        authorization: [UInt8], lifetime: Int, now: ClockReading
    ) -> EngineConfiguration {
        let request = FCMRequest(endpoint, projectID: account.projectID, lifetime: lifetime)
        return endpoint.engine(
            request.shape(authorization: authorization), connections: connections)
    }

    func append(_ token: PushToken, to batch: inout PushBatch) {
        token.bytes.withSpan { bytes in
            var text = FCMRequest.escaped(bytes)
            batch.append(text)
            wipe(&text)
        }
    }

    static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        FCMAnswers.verdict(status: status, body: body)
    }
}
