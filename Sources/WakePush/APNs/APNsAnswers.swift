/// What every answer of APNs means, as a table.
package enum APNsAnswers {
    /// The meaning of one row. Some answers blame the push token when the token may be right and
    /// the gateway wrong: those are believed only when the same connection has accepted other
    /// wake-ups in this round.
    package enum Meaning: Sendable, Hashable {
        case accepted
        case gone
        case goneIfOthersAccepted(else: APNsFault)
        case retry(RetryCause)
        case misconfigured(APNsFault)
        /// Refused for a reason this program does not know: it may be about one push token, or
        /// about every wake-up. Never `gone`.
        case unknown
    }

    package struct Row: Sendable {
        package let status: ClosedRange<Int>
        /// nil: any reason, none, or one that is not known.
        package let reason: APNsReason?
        package let meaning: Meaning

        init(_ status: Int, _ reason: APNsReason? = nil, _ meaning: Meaning) {
            self.init(status...status, reason, meaning)
        }

        init(_ status: ClosedRange<Int>, _ reason: APNsReason? = nil, _ meaning: Meaning) {
            self.status = status
            self.reason = reason
            self.meaning = meaning
        }
    }

    /// The first row that fits holds.
    package static let rows: [Row] = [
        Row(200, nil, .accepted),
        Row(410, .unregistered, .gone),
        Row(410, .expiredToken, .gone),
        Row(400, .badDeviceToken, .goneIfOthersAccepted(else: .tokensOfOtherEnvironment)),
        Row(400, .deviceTokenNotForTopic, .goneIfOthersAccepted(else: .tokensOfOtherTopic)),
        // The gateway is well, but its token is not: `ProviderTokenPolicy` mints once, or waits.
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
    ]

    /// - Parameter body: of the answer, as far as it was kept; only refusals need one.
    package static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        // The body of what was accepted is empty and says nothing.
        let reason = status == 200 ? nil : APNsReason(body: body)
        let row = rows.first { row in
            row.status.contains(status) && (row.reason == nil || row.reason == reason)
        }
        switch row?.meaning {
        case .accepted: return .delivery(.accepted)
        case .gone: return .delivery(.gone)
        case .goneIfOthersAccepted(let fault):
            return .unproven(then: .gone, or: .apns(fault))
        case .retry(let cause): return .delivery(.retry(cause))
        case .misconfigured(let fault): return .failure(.misconfigured(.apns(fault)))
        case .unknown, nil:
            return .unproven(
                then: .retry(.unknownRefusal), or: .apns(.requestRefused(status: status)))
        }
    }
}
