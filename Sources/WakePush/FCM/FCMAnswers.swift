/// What every answer of FCM means, as a table.
package enum FCMAnswers {
    package typealias Table = AnswerTable<FCMReason, FCMFault>
    private typealias Row = Table.Row

    package static let table = Table(
        [
            Row(200, nil, .accepted),
            Row(404, .unregistered, .gone),
            // NOT_FOUND without a reason: the project, or a proxy.
            Row(404, nil, .refusedIfOthersAccepted(else: .projectUnknown)),
            // Google, "Manage FCM registration tokens": the token is meant only when the message is
            // known to be right, and that is what others have shown.
            Row(400, .tokenInvalid, .goneIfOthersAccepted(else: .tokensRefused)),
            Row(400, .requestInvalid, .misconfigured(.requestRefused(status: 400))),
            Row(400, nil, .refusedIfOthersAccepted(else: .requestRefused(status: 400))),
            Row(401, .thirdPartyAuthError, .refusedIfOthersAccepted(else: .tokensOfOtherPlatform)),
            // UNAUTHENTICATED: `FCMTokenPolicy` asks for another token once, or calls it a fault.
            Row(401, nil, .retry(.providerTokenExpired)),
            Row(403, .senderIDMismatch, .refusedIfOthersAccepted(else: .tokensOfOtherProject)),
            // PERMISSION_DENIED, or the API is not enabled.
            Row(403, nil, .misconfigured(.forbidden)),
            Row(405, nil, .misconfigured(.requestRefused(status: 405))),
            Row(413, nil, .misconfigured(.requestRefused(status: 413))),
            Row(429, nil, .retry(.throttled)),
            Row(500...599, nil, .retry(.serviceFault)),
            // 400 for reasons to come, 3xx, 409, 999.
            Row(Int.min...Int.max, nil, .unknown),
        ],
        misconfiguration: { .fcm($0) }, unknown: { .requestRefused(status: $0) })

    /// Seconds to wait after 429 without `Retry-After`, and at least (firebase.google.com, "Best
    /// practices when sending FCM messages at scale").
    package static let throttledSeconds = 60

    /// - Parameter body: of the answer, as far as it was kept; only refusals need one.
    package static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        // The body of what was accepted says nothing that is needed.
        table.verdict(status: status, reason: status == 200 ? nil : FCMReason(body: body))
    }
}
