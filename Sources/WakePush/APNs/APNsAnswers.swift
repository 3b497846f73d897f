/// What every answer of APNs means, as a table.
package enum APNsAnswers {
    package typealias Table = AnswerTable<APNsReason, APNsFault>
    private typealias Row = Table.Row

    package static let table = Table(
        [
            Row(200, nil, .accepted),
            Row(410, .unregistered, .gone),
            Row(410, .expiredToken, .gone),
            Row(400, .badDeviceToken, .goneIfOthersAccepted(else: .tokensOfOtherEnvironment)),
            Row(400, .deviceTokenNotForTopic, .goneIfOthersAccepted(else: .tokensOfOtherTopic)),
            // The gateway is well, its token is not: `ProviderTokenPolicy` mints once, or waits.
            Row(403, .expiredProviderToken, .retry(.providerTokenExpired)),
            Row(403, .invalidProviderToken, .misconfigured(.keyRefused)),
            Row(403, .missingProviderToken, .misconfigured(.tokenNotSeen)),
            Row(403, .badEnvironmentKeyIdInToken, .misconfigured(.keyOfOtherEnvironment)),
            Row(403, .badCertificateEnvironment, .misconfigured(.keyOfOtherEnvironment)),
            Row(403, .topicDisallowed, .misconfigured(.topicOfOthers)),
            Row(403, nil, .misconfigured(.forbidden)),
            Row(400, .badTopic, .misconfigured(.topicMalformed)),
            Row(400, .missingTopic, .misconfigured(.topicMalformed)),
            Row(400, .topicDisallowed, .misconfigured(.topicOfOthers)),
            Row(400, .invalidPushType, .misconfigured(.requestRefused(status: 400))),
            Row(400, .idleTimeout, .retry(.connectionFault)),
            Row(404, nil, .misconfigured(.requestRefused(status: 404))),
            Row(405, nil, .misconfigured(.requestRefused(status: 405))),
            Row(413, nil, .misconfigured(.requestRefused(status: 413))),
            Row(429, .tooManyProviderTokenUpdates, .retry(.providerTokenUpdates)),
            Row(429, nil, .retry(.throttled)),
            Row(500...599, nil, .retry(.serviceFault)),
            // 410 without a reason that is known, 400 for reasons to come, 3xx, 418, 999.
            Row(Int.min...Int.max, nil, .unknown),
        ],
        misconfiguration: { .apns($0) }, unknown: { .requestRefused(status: $0) })

    /// - Parameter body: of the answer, as far as it was kept; only refusals need one.
    package static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        // The body of what was accepted says nothing that is needed.
        table.verdict(status: status, reason: status == 200 ? nil : APNsReason(body: body))
    }
}
