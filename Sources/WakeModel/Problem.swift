/// What a request is refused for: a status, a stable code, a constant title (RFC 9457). No problem
/// ever repeats a byte of the request.
package enum Problem: Sendable, CaseIterable {
    case instanceTokenMissing
    case instanceTokenMalformed
    case bodyMalformed
    case bodyTooDeep
    case memberDuplicate
    case memberUnknown
    case memberMissing
    case serviceUnknown
    case pushTokenMalformed
    case pushTokenTooLong
    case serviceOff
    case pushHostNotAllowed
    case queryNotAllowed
    case notFound
    case methodNotAllowed
    case rangeNotSatisfiable
    case storeFull
    case storeUnavailable
    case overloaded
    case feedUnavailable
    case broadcastNotNewer
    case broadcastDoesNotFit
    case signatureMissing
    case signatureMalformed
    case signatureWrong
    case signatureStale
    case signatureReplayed
    case installationUnknown
    case relayBatchMalformed
    case relayBatchTooLarge
    case relayBusy
    case relayUnavailable

    package var status: UInt16 {
        switch self {
        case .instanceTokenMissing, .instanceTokenMalformed, .signatureMissing,
            .signatureMalformed, .signatureWrong, .signatureStale, .signatureReplayed:
            401
        case .installationUnknown: 403
        case .bodyMalformed, .bodyTooDeep, .memberDuplicate, .memberUnknown, .memberMissing,
            .serviceUnknown, .pushTokenMalformed, .queryNotAllowed, .relayBatchMalformed:
            400
        case .pushTokenTooLong, .relayBatchTooLarge: 413
        // RFC 9110 §15.5.21: understood, well formed, and still not to be followed.
        case .serviceOff, .pushHostNotAllowed: 422
        case .notFound: 404
        case .methodNotAllowed: 405
        case .rangeNotSatisfiable: 416
        case .relayBusy: 429
        case .storeFull: 507
        case .storeUnavailable, .overloaded, .feedUnavailable, .relayUnavailable: 503
        case .broadcastNotNewer, .broadcastDoesNotFit: 409
        }
    }

    package var code: StaticString {
        switch self {
        case .instanceTokenMissing: "instance_token_missing"
        case .instanceTokenMalformed: "instance_token_malformed"
        case .bodyMalformed: "body_malformed"
        case .bodyTooDeep: "body_too_deep"
        case .memberDuplicate: "member_duplicate"
        case .memberUnknown: "member_unknown"
        case .memberMissing: "member_missing"
        case .serviceUnknown: "service_unknown"
        case .pushTokenMalformed: "push_token_malformed"
        case .pushTokenTooLong: "push_token_too_long"
        case .serviceOff: "service_off"
        case .pushHostNotAllowed: "push_host_not_allowed"
        case .queryNotAllowed: "query_not_allowed"
        case .notFound: "not_found"
        case .methodNotAllowed: "method_not_allowed"
        case .rangeNotSatisfiable: "range_not_satisfiable"
        case .storeFull: "store_full"
        case .storeUnavailable: "store_unavailable"
        case .overloaded: "overloaded"
        case .feedUnavailable: "feed_unavailable"
        case .broadcastNotNewer: "broadcast_not_newer"
        case .broadcastDoesNotFit: "broadcast_does_not_fit"
        case .signatureMissing: "signature_missing"
        case .signatureMalformed: "signature_malformed"
        case .signatureWrong: "signature_wrong"
        case .signatureStale: "signature_stale"
        case .signatureReplayed: "signature_replayed"
        case .installationUnknown: "installation_unknown"
        case .relayBatchMalformed: "relay_batch_malformed"
        case .relayBatchTooLarge: "relay_batch_too_large"
        case .relayBusy: "relay_busy"
        case .relayUnavailable: "relay_unavailable"
        }
    }

    package var title: StaticString {
        switch self {
        case .instanceTokenMissing: "an instance token is needed: Authorization: Bearer <token>"
        case .instanceTokenMalformed:
            "the instance token must be 32 random bytes as 43 characters of base64url"
        case .bodyMalformed: "the body must be one JSON object in UTF-8"
        case .bodyTooDeep: "the body is nested too deeply"
        case .memberDuplicate: "a member of the body occurs twice"
        case .memberUnknown: "the body has a member this protocol does not know"
        case .memberMissing: "the body needs service, and token (webpush: endpoint)"
        case .serviceUnknown: "the service must be apns, apns-sandbox, fcm or webpush"
        case .pushTokenMalformed: "the push token is not of the form its service issues"
        case .pushTokenTooLong: "the push token is longer than 508 bytes"
        case .serviceOff: "this installation sends nothing through that push service"
        case .pushHostNotAllowed: "this installation sends nothing to the host of that endpoint"
        case .queryNotAllowed: "no path of this service takes a query"
        case .notFound: "nothing is served under this path"
        case .methodNotAllowed: "this path does not know this method"
        case .rangeNotSatisfiable: "the range begins after the end"
        case .storeFull: "the store is full; deleting still works"
        case .storeUnavailable: "the store cannot be used at the moment"
        case .overloaded: "too much is waiting; try again"
        case .feedUnavailable: "no feed is published here yet"
        case .broadcastNotNewer: "the feed has nothing newer than the last broadcast"
        case .broadcastDoesNotFit: "the broadcast would take longer than its interval"
        case .signatureMissing: "a request to the relay must be signed"
        case .signatureMalformed: "the signature is not of the one form this relay takes"
        case .signatureWrong: "the signature is of another request, for another host, or wrong"
        case .signatureStale: "the signature is too old, from the future, or from before a restart"
        case .signatureReplayed: "a request with this nonce was here before"
        case .installationUnknown: "this relay does not know the installation"
        case .relayBatchMalformed: "the batch needs a lifetime in seconds and at least one wake-up"
        case .relayBatchTooLarge: "a batch has at most 1000 wake-ups and 655360 bytes"
        case .relayBusy: "too many wake-ups in a minute, or requests at once"
        case .relayUnavailable: "the relay cannot be used at the moment"
        }
    }
}

extension Problem {
    package init(_ error: RegistrationBodyError) {
        switch error {
        case .json(.malformed): self = .bodyMalformed
        case .json(.tooDeep): self = .bodyTooDeep
        case .json(.duplicateMember): self = .memberDuplicate
        case .json(.unknownMember): self = .memberUnknown
        case .json(.missingMember): self = .memberMissing
        case .unknownService: self = .serviceUnknown
        case .token(.malformed): self = .pushTokenMalformed
        case .token(.tooLong): self = .pushTokenTooLong
        }
    }
}
