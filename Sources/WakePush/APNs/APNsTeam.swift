private import Synchronization
private import WakeModel

/// One developer account as both environments of APNs see it: they share its provider token.
package final class APNsTeam: Sendable {
    private struct State {
        var source: ProviderTokenSource
        var current: ProviderToken?
        var serial = 0
        /// Uptime in seconds when `current` replaced another; nil for the first of this process.
        var replacedAt: Int?
    }

    package let topic: String
    private let state: Mutex<State>

    /// Seconds after a change in which an answer may be to the token before: no push waits longer
    /// for its answer.
    private static let lateSeconds = 1 + Int(ConnectionLimits().answerMilliseconds / 1000)

    /// - Parameter tokenFile: where the provider token is kept between runs.
    package init(
        _ credentials: APNsCredentials, tokenFile: String
    ) throws(ProviderTokenError) {
        topic = credentials.topic
        state = Mutex(State(source: try ProviderTokenSource(credentials, path: tokenFile)))
    }

    func credential(at now: ClockReading) throws(GatewayFailure) -> Credential {
        do throws(ProviderTokenError) {
            return try state.withLock { state throws(ProviderTokenError) in
                switch try state.source.token(at: now) {
                case .wait(let seconds): return .wait(seconds: seconds)
                case .token(let token):
                    if token != state.current {
                        if state.current != nil { state.replacedAt = now.uptime }
                        state.current = token
                        state.serial += 1
                    }
                    return .value(APNsRequest.authorization(token), serial: state.serial)
                }
            }
        } catch {
            throw .misconfigured(.providerToken(error))
        }
    }

    func note(_ news: CredentialNews, at now: ClockReading) throws(GatewayFailure) {
        try state.withLock { state throws(GatewayFailure) in
            guard let token = state.current else { return }
            if news.contains(.tooManyUpdates) {
                try state.source.note(.retry(.providerTokenUpdates), sentWith: token, at: now)
            }
            if let replacedAt = state.replacedAt, now.uptime - replacedAt < Self.lateSeconds {
                return
            }
            if news.contains(.worked) {
                try state.source.note(.accepted, sentWith: token, at: now)
            }
            if news.contains(.expired) {
                try state.source.note(.retry(.providerTokenExpired), sentWith: token, at: now)
            }
        }
    }
}
