/// How far the wish about the registration has come.
public enum RegistrationState: Sendable, Equatable {
    /// Nothing is registered and nothing is wished.
    case none
    /// The service acknowledged the push token.
    case registered
    /// The push token is on its way; the client keeps trying, across restarts. `failure` is of the
    /// last attempt.
    case registering(failure: ClientError?)
    /// The erasure is on its way; the client keeps trying, across restarts.
    case unregistering(failure: ClientError?)
    /// The feed's publisher has switched registrations off for now; the wish is kept.
    case suspended
}
