private import WakeModel

/// The reasons of APNs that are told apart (Apple, "Handling notification responses from APNs").
package enum APNsReason: Sendable, Hashable, CaseIterable {
    case badDeviceToken
    case badEnvironmentKeyIdInToken
    case badCertificateEnvironment
    case badTopic
    case deviceTokenNotForTopic
    case expiredProviderToken
    case expiredToken
    case idleTimeout
    case invalidProviderToken
    case invalidPushType
    case missingProviderToken
    case missingTopic
    case shutdown
    case tooManyProviderTokenUpdates
    case tooManyRequests
    case topicDisallowed
    case unregistered

    /// The word on the wire.
    package var word: StaticString {
        switch self {
        case .badDeviceToken: "BadDeviceToken"
        case .badEnvironmentKeyIdInToken: "BadEnvironmentKeyIdInToken"
        case .badCertificateEnvironment: "BadCertificateEnvironment"
        case .badTopic: "BadTopic"
        case .deviceTokenNotForTopic: "DeviceTokenNotForTopic"
        case .expiredProviderToken: "ExpiredProviderToken"
        case .expiredToken: "ExpiredToken"
        case .idleTimeout: "IdleTimeout"
        case .invalidProviderToken: "InvalidProviderToken"
        case .invalidPushType: "InvalidPushType"
        case .missingProviderToken: "MissingProviderToken"
        case .missingTopic: "MissingTopic"
        case .shutdown: "Shutdown"
        case .tooManyProviderTokenUpdates: "TooManyProviderTokenUpdates"
        case .tooManyRequests: "TooManyRequests"
        case .topicDisallowed: "TopicDisallowed"
        case .unregistered: "Unregistered"
        }
    }

    package init?(word: Span<UInt8>) {
        for reason in Self.allCases where word.equals(reason.word) {
            self = reason
            return
        }
        return nil
    }
}

extension APNsReason {
    /// Longest body that is read, bytes: APNs sends about a hundred.
    package static let bodyLimit = 4096

    /// The reason in the body of an answer, or of a GOAWAY frame: `{"reason":"Unregistered",
    /// "timestamp":1700000000000}`. nil for everything that is not that, however it is not.
    package init?(body: Span<UInt8>) {
        guard !body.isEmpty, body.count <= Self.bodyLimit else { return nil }
        var reason: APNsReason?
        do throws(JSONError) {
            var scanner = try JSONScanner(body.array, depthLimit: 1)
            try scanner.document { scanner throws(JSONError) in
                try scanner.object { scanner, name throws(JSONError) in
                    if name.span.equals("reason") {
                        let word = try scanner.string()
                        reason = APNsReason(word: word.span)
                    } else {
                        try Self.skip(&scanner)
                    }
                }
            }
        } catch {
            return nil
        }
        guard let reason else { return nil }
        self = reason
    }

    /// Passes over a value that is not needed: text or a whole number; nothing nested.
    private static func skip(_ scanner: inout JSONScanner) throws(JSONError) {
        let start = scanner
        do throws(JSONError) {
            _ = try scanner.integer()
            return
        } catch {
            scanner = start
        }
        _ = try scanner.string()
    }
}
