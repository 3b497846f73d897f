/// What a request can do wrong, as APNs names it.
enum Refusal: UInt8 {
    case methodNotAllowed, badPath, badDeviceToken
    case missingProviderToken, invalidProviderToken, expiredProviderToken
    case tooManyProviderTokenUpdates
    case missingTopic, topicDisallowed, invalidPushType, badPriority, badExpirationDate
    case payloadEmpty, payloadTooLarge
    /// Not one of Apple's: this project promises one constant payload.
    case payloadNotConstant

    var answer: Answer {
        switch self {
        case .methodNotAllowed: Answer(status: 405, reason: "MethodNotAllowed")
        case .badPath: Answer(status: 404, reason: "BadPath")
        case .badDeviceToken: Answer(status: 400, reason: "BadDeviceToken")
        case .missingProviderToken: Answer(status: 403, reason: "MissingProviderToken")
        case .invalidProviderToken: Answer(status: 403, reason: "InvalidProviderToken")
        case .expiredProviderToken: Answer(status: 403, reason: "ExpiredProviderToken")
        case .tooManyProviderTokenUpdates:
            Answer(status: 429, reason: "TooManyProviderTokenUpdates")
        case .missingTopic: Answer(status: 400, reason: "MissingTopic")
        case .topicDisallowed: Answer(status: 400, reason: "TopicDisallowed")
        case .invalidPushType: Answer(status: 400, reason: "InvalidPushType")
        case .badPriority: Answer(status: 400, reason: "BadPriority")
        case .badExpirationDate: Answer(status: 400, reason: "BadExpirationDate")
        case .payloadEmpty: Answer(status: 400, reason: "PayloadEmpty")
        case .payloadTooLarge: Answer(status: 413, reason: "PayloadTooLarge")
        case .payloadNotConstant: Answer(status: 400, reason: "PayloadNotConstant")
        }
    }
}
