/// What a request is for. Purposes are kept apart so that nobody on the way or at the other end
/// can link them: they share no connection, no DNS cache, no TLS state and no proxy circuit. Each
/// has its own thread and its own libcurl multi handle, hence also no sink of one purpose can hold
/// up another.
package enum FetchPurpose: UInt8, Sendable, Hashable, CaseIterable {
    /// Requests that carry an instance token.
    case registration
    /// Heads and batches of a feed.
    case feed
    /// The anonymous event stream of wake-ups.
    case stream
    /// What a service asks of a push service beside its wake-ups, such as an access token.
    case gateway

    /// The user name shown to a SOCKS proxy: another user, another circuit (tor(1),
    /// IsolateSOCKSAuth).
    var proxyUser: StaticString {
        switch self {
        case .registration: "registration"
        case .feed: "feed"
        case .stream: "stream"
        case .gateway: "gateway"
        }
    }
}
