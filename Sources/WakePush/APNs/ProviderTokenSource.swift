package import WakeFiles

/// Gives out the provider token of one team: made when the policy says so, kept before it is used.
/// One source serves all connections of a team, to production and sandbox alike.
package struct ProviderTokenSource: Sendable {
    /// A token to send with, or a pause.
    package enum Answer: Sendable, Equatable {
        case token(ProviderToken)
        /// Nothing may be sent for so many seconds.
        case wait(seconds: Int)
    }

    private let credentials: APNsCredentials
    private let file: ProviderTokenFile
    private var policy: ProviderTokenPolicy

    /// - Parameters:
    ///   - path: where the token is kept between runs.
    ///   - reuse: seconds a token is used, 20 to 59 minutes.
    package init(
        _ credentials: APNsCredentials, path: String, reuse: Int = ProviderTokenPolicy.usual
    ) throws(ProviderTokenError) {
        self.credentials = credentials
        file = ProviderTokenFile(path: path)
        policy = ProviderTokenPolicy(reuse: reuse, kept: try file.read(credentials))
    }

    package mutating func token(at now: ClockReading) throws(ProviderTokenError) -> Answer {
        switch policy.decide(now) {
        case .use(let token): return .token(token)
        case .wait(let seconds): return .wait(seconds: seconds)
        case .mint:
            guard let token = ProviderToken(mintedBy: credentials, at: now) else {
                throw .cannotSign
            }
            // Before it is used: what was never sent, a crash may lose.
            try file.write(token)
            policy.minted(token)
            return .token(token)
        }
    }

    /// What a delivery says about the token it was sent with.
    /// - Throws: when a token was refused that had just been made.
    package mutating func note(
        _ delivery: Delivery, sentWith token: ProviderToken, at now: ClockReading
    ) throws(GatewayFailure) {
        switch delivery {
        case .accepted: policy.worked(token)
        case .retry(.providerTokenExpired): try policy.expired(token, at: now)
        case .retry(.providerTokenUpdates): policy.tooManyUpdates(now)
        case .gone, .retry: break
        }
    }
}

/// Why there is no provider token.
package enum ProviderTokenError: Error, Hashable, Sendable {
    /// The file it is kept in cannot be read or written.
    case file(FileError)
    /// libcrypto is out of memory.
    case cannotSign

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        switch self {
        case .file(let error):
            "apns: cannot keep the provider token: \(error.reason)\n"
                + "hint: the data directory must be writable by the user of this service"
        case .cannotSign: "apns: out of memory while signing the provider token"
        }
    }
}
