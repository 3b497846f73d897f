/// What every answer of FCM means, as a table.
package enum FCMAnswers {
    /// The meaning of one row. Anybody may register a push token that is none, or one of another
    /// project or platform: what FCM says of it must not stop the gateway for all. Such answers
    /// are the gateway's fault only when the connection accepts nothing else in this round.
    package enum Meaning: Sendable, Hashable {
        case accepted
        case gone
        case goneIfOthersAccepted(else: FCMFault)
        /// Nothing is deleted either way.
        case refusedIfOthersAccepted(else: FCMFault)
        case retry(RetryCause)
        case misconfigured(FCMFault)
        /// Refused for a reason this program does not know: it may be about one push token, or
        /// about every wake-up. Never `gone`.
        case unknown
    }

    package struct Row: Sendable {
        package let status: ClosedRange<Int>
        /// nil: any reason, none, or one that is not known.
        package let reason: FCMReason?
        package let meaning: Meaning

        init(_ status: Int, _ reason: FCMReason? = nil, _ meaning: Meaning) {
            self.init(status...status, reason, meaning)
        }

        init(_ status: ClosedRange<Int>, _ reason: FCMReason? = nil, _ meaning: Meaning) {
            self.status = status
            self.reason = reason
            self.meaning = meaning
        }
    }

    /// The first row that fits holds.
    package static let rows: [Row] = [
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
    ]

    /// Seconds to wait after 429 without `Retry-After`, and at least (firebase.google.com, "Best
    /// practices when sending FCM messages at scale").
    package static let throttledSeconds = 60

    /// - Parameter body: of the answer, as far as it was kept; only refusals need one.
    package static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        let reason = status == 200 ? nil : FCMReason(body: body)
        let row = rows.first { row in
            row.status.contains(status) && (row.reason == nil || row.reason == reason)
        }
        switch row?.meaning {
        case .accepted: return .delivery(.accepted)
        case .gone: return .delivery(.gone)
        case .goneIfOthersAccepted(let fault): return .unproven(then: .gone, or: .fcm(fault))
        case .refusedIfOthersAccepted(let fault):
            return .unproven(then: .retry(.unknownRefusal), or: .fcm(fault))
        case .retry(let cause): return .delivery(.retry(cause))
        case .misconfigured(let fault): return .failure(.misconfigured(.fcm(fault)))
        case .unknown, nil:
            return .unproven(
                then: .retry(.unknownRefusal), or: .fcm(.requestRefused(status: status)))
        }
    }
}
