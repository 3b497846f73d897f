private import WakeModel
import WakeSystem

/// The meaning of every answer of APNs, as a table.
package enum APNsResponses {
    package typealias Table = ResponseTable<APNsReason>
    private typealias Row = Table.Row

    package static let table = Table(
        rows: [
            Row(200, nil, .accepted),
            Row(410, .unregistered, .gone),
            Row(410, .expiredToken, .gone),
            Row(400, .badDeviceToken, .invalid(or: .apns(.tokensOfOtherEnvironment))),
            Row(400, .deviceTokenNotForTopic, .invalid(or: .apns(.tokensOfOtherTopic))),
            // The gateway is well, its token is not, if a few say so: see `APNsTokenPolicy`.
            Row(403, .expiredProviderToken, .retry(.providerTokenExpired)),
            Row(403, .invalidProviderToken, .misconfigured(.apns(.keyRefused))),
            Row(403, .missingProviderToken, .misconfigured(.apns(.tokenNotSeen))),
            Row(403, .badEnvironmentKeyIdInToken, .misconfigured(.apns(.keyOfOtherEnvironment))),
            Row(403, .badCertificateEnvironment, .misconfigured(.apns(.keyOfOtherEnvironment))),
            Row(403, .topicDisallowed, .misconfigured(.apns(.topicOfOthers))),
            Row(403, nil, .misconfigured(.apns(.forbidden))),
            Row(400, .badTopic, .misconfigured(.apns(.topicMalformed))),
            Row(400, .missingTopic, .misconfigured(.apns(.topicMalformed))),
            Row(400, .topicDisallowed, .misconfigured(.apns(.topicOfOthers))),
            Row(400, .invalidPushType, .misconfigured(.apns(.requestRefused(status: 400)))),
            Row(400, .idleTimeout, .retry(.connectionFault)),
            Row(404, nil, .misconfigured(.apns(.requestRefused(status: 404)))),
            Row(405, nil, .misconfigured(.apns(.requestRefused(status: 405)))),
            Row(413, nil, .misconfigured(.apns(.requestRefused(status: 413)))),
            Row(429, .tooManyProviderTokenUpdates, .retry(.providerTokenUpdates)),
            Row(429, nil, .retry(.throttled)),
            Row(500...599, nil, .retry(.serviceFault)),
        ],
        // 410 without a reason that is known, 400 for reasons to come, 3xx, 418, 999.
        unknown: { .apns(.requestRefused(status: $0)) })

    /// - Parameter body: the first bytes of the body of a refusal.
    package static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        table.verdict(
            status: status, reason: status == 200 ? nil : APNsReason(body: body), body: body,
            stranger: .apns(.proxyRefused))
    }
}

/// The reasons of APNs that are distinguished (Apple, "Handling notification responses from APNs").
package enum APNsReason: String, Sendable, Hashable, CaseIterable {
    case badDeviceToken = "BadDeviceToken"
    case badEnvironmentKeyIdInToken = "BadEnvironmentKeyIdInToken"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case expiredProviderToken = "ExpiredProviderToken"
    case expiredToken = "ExpiredToken"
    case idleTimeout = "IdleTimeout"
    case invalidProviderToken = "InvalidProviderToken"
    case invalidPushType = "InvalidPushType"
    case missingProviderToken = "MissingProviderToken"
    case missingTopic = "MissingTopic"
    case shutdown = "Shutdown"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case topicDisallowed = "TopicDisallowed"
    case unregistered = "Unregistered"

    /// Bytes of a body at most: APNs sends about a hundred.
    package static let bodyLimit = 4096

    /// The reason in the body of an answer; nil for everything else.
    package init?(body: Span<UInt8>) {
        guard let text = Self.text(in: body) else { return nil }
        self.init(rawValue: String(decoding: text, as: UTF8.self))
    }

    /// The text of the reason in the body of an answer, or in a GOAWAY frame:
    /// `{"reason":"Unregistered","timestamp":1700000000000}`; nil for everything else.
    static func text(in body: Span<UInt8>) -> [UInt8]? {
        guard !body.isEmpty, body.count <= bodyLimit else { return nil }
        var reason: [UInt8]?
        let isRead: Void? = try? JSONScanner.readObject(body.array, depthLimit: 1) {
            scanner, name throws(JSONError) in
            // APNs sends text and whole numbers only.
            switch try scanner.value() {
            case .string(let text) where name.span.equals("reason"): reason = text
            case .string, .number: break
            default: throw .malformed
            }
        }
        return isRead == nil ? nil : reason
    }
}

/// A fault of the APNs gateway that every wake-up meets.
package enum APNsFault: Sendable, Hashable {
    case keyRefused, tokenNotSeen, clockWrong, forbidden, keyOfOtherEnvironment, topicMalformed
    case topicOfOthers, tokensOfOtherEnvironment, tokensOfOtherTopic, proxyRefused
    case requestRefused(status: Int)

    package var name: StaticString {
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
        case .proxyRefused: "proxy-refused"
        case .requestRefused: "request-refused"
        }
    }

    package var message: String { "apns: \(description)" }

    private var description: String {
        switch self {
        case .keyRefused:
            "the provider token was refused\nhint: check that [apns] key, key-id and team-id "
                + "belong together and that the key was not revoked in the developer account"
        case .tokenNotSeen:
            "the provider token did not arrive\n"
                + "hint: check that no proxy between here and APNs removes the authorization field"
        case .clockWrong:
            "a provider token was refused as expired right after it was made\n"
                + "hint: check this machine's clock: timedatectl status"
        case .forbidden:
            "the key is not allowed to push\nhint: check in the developer account that the key of "
                + "[apns] key-id has the service APNs"
        case .keyOfOtherEnvironment:
            "the key is for the other environment, production or sandbox\n"
                + "hint: use a key for both in [apns] key, or name the key's in environments"
        case .topicMalformed:
            "the topic was refused\nhint: set [apns] topic to the app's bundle identifier, as in "
                + "the developer account"
        case .topicOfOthers:
            "the topic is not one of this team or key\nhint: check that [apns] topic is a bundle "
                + "identifier of the team in team-id and that the key is not restricted to other "
                + "topics"
        case .tokensOfOtherEnvironment:
            "every push token was refused as bad\nhint: the app may register development tokens as "
                + "apns or distribution tokens as apns-sandbox; nothing was deleted"
        case .tokensOfOtherTopic:
            "every push token was refused as not for the topic\nhint: check that [apns] topic is "
                + "the bundle identifier of the app that registers; nothing was deleted"
        case .proxyRefused:
            "a web page with status 403 came in place of an answer of APNs\nhint: a proxy or "
                + "firewall is between: let this machine reach the push service; the key is not "
                + "to blame"
        case .requestRefused(let status):
            "the request itself was refused with status \(status)\n"
                + "hint: check that [apns] host and port, if set, name APNs; otherwise report this"
        }
    }
}
