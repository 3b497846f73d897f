/// What can be wrong with an APNs gateway so that no wake-up of it can work.
package enum APNsFault: Sendable, Hashable {
    /// 403 InvalidProviderToken: key, key id and team id do not belong together.
    case keyRefused
    /// 403 MissingProviderToken: something on the way drops the `authorization` field.
    case tokenNotSeen
    /// 403 ExpiredProviderToken for a token that was just minted.
    case clockWrong
    /// 403 with any other reason.
    case forbidden
    /// 403 BadEnvironmentKeyIdInToken, BadCertificateEnvironment: the key is for the other
    /// environment.
    case keyOfOtherEnvironment
    /// 400 BadTopic, MissingTopic.
    case topicMalformed
    /// 400 TopicDisallowed: the topic is not of this team.
    case topicOfOthers
    /// 400 BadDeviceToken on a connection that has accepted nothing: production and sandbox are
    /// most likely mixed.
    case tokensOfOtherEnvironment
    /// 400 DeviceTokenNotForTopic on a connection that has accepted nothing.
    case tokensOfOtherTopic
    /// 400 InvalidPushType, 404, 405, 413 and other refusals of what every wake-up has in common:
    /// not APNs at the other end, or a fault of ours.
    case requestRefused(status: Int)

    /// A word for logs and metrics.
    package var word: StaticString {
        switch self {
        case .keyRefused: "key-refused"
        case .tokenNotSeen: "token-not-seen"
        case .clockWrong: "clock-wrong"
        case .forbidden: "forbidden"
        case .keyOfOtherEnvironment: "key-of-other-environment"
        case .topicMalformed: "topic-malformed"
        case .topicOfOthers: "topic-of-others"
        case .tokensOfOtherEnvironment: "tokens-of-other-environment"
        case .tokensOfOtherTopic: "tokens-of-other-topic"
        case .requestRefused: "request-refused"
        }
    }

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        let (problem, hint) = words
        return "apns: \(problem)\nhint: \(hint)"
    }

    private var words: (problem: String, hint: String) {
        switch self {
        case .keyRefused:
            (
                "the provider token was refused",
                "check that [apns] key, key-id and team-id belong together and that the key was "
                    + "not revoked in the developer account"
            )
        case .tokenNotSeen:
            (
                "the provider token did not arrive",
                "check that no proxy between here and APNs removes the authorization field"
            )
        case .clockWrong:
            (
                "a provider token was refused as expired right after it was made",
                "check this machine's clock: timedatectl status"
            )
        case .forbidden:
            (
                "the key is not allowed to push",
                "check in the developer account that the key of [apns] key-id has the service APNs"
            )
        case .keyOfOtherEnvironment:
            (
                "the key is for the other environment, production or sandbox",
                "use a key for this environment in [apns] key, or one for both"
            )
        case .topicMalformed:
            (
                "the topic was refused",
                "set [apns] topic to the app's bundle identifier, as in the developer account"
            )
        case .topicOfOthers:
            (
                "the topic is not one of this team or key",
                "check that [apns] topic is a bundle identifier of the team in team-id and that "
                    + "the key is not restricted to other topics"
            )
        case .tokensOfOtherEnvironment:
            (
                "every push token was refused as bad",
                "the app may register development tokens as apns or distribution tokens as "
                    + "apns-sandbox; nothing was deleted"
            )
        case .tokensOfOtherTopic:
            (
                "every push token was refused as not for the topic",
                "check that [apns] topic is the bundle identifier of the app that registers; "
                    + "nothing was deleted"
            )
        case .requestRefused(let status):
            (
                "the request itself was refused with status \(status)",
                "check that [apns] host and port, if set, name APNs; otherwise report this"
            )
        }
    }
}
