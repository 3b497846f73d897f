import WakeSystem

/// The status, stable code and constant title (RFC 9457) of a refusal; no byte of the request.
package enum Problem: Sendable, CaseIterable {
    case instanceTokenMissing, instanceTokenMalformed
    case bodyMalformed, bodyTooDeep, memberDuplicate, memberUnknown, memberMissing
    case serviceUnknown, pushTokenMalformed, pushTokenTooLong, serviceOff, notNeeded
    case pushHostNotAllowed, pushSubjectMissing, queryNotAllowed, notFound, methodNotAllowed
    case contentTypeUnsupported, adminTokenWrong, browserRefused
    case rangeNotSatisfiable
    case proofNeeded, wakeTooSoon, storeFull, storeUnavailable, overloaded, feedUnavailable
    case broadcastNotNewer, noBroadcastRunning, rotationUnconfirmed
    case signatureMissing, signatureMalformed, signatureWrong, signatureStale, signatureReplayed
    case installationUnknown, relayBatchMalformed, relayBatchTooLarge, relayBusy, relayUnavailable
    case obliviousTypeUnsupported, obliviousMalformed, obliviousKey

    package var status: UInt16 { entry.status }
    /// The stable name that programs compare.
    package var code: StaticString { entry.code }

    private var entry: (status: UInt16, code: StaticString) {
        switch self {
        case .instanceTokenMissing: (401, "instance_token_missing")
        case .instanceTokenMalformed: (401, "instance_token_malformed")
        case .bodyMalformed: (400, "body_malformed")
        case .bodyTooDeep: (400, "body_too_deep")
        case .memberDuplicate: (400, "member_duplicate")
        case .memberUnknown: (400, "member_unknown")
        case .memberMissing: (400, "member_missing")
        case .serviceUnknown: (400, "service_unknown")
        case .pushTokenMalformed: (400, "push_token_malformed")
        case .pushTokenTooLong: (413, "push_token_too_long")
        // RFC 9110 §15.5.21: understood, well formed, and still not to be followed.
        case .serviceOff: (422, "service_off")
        case .notNeeded: (422, "not_needed")
        case .pushHostNotAllowed: (422, "push_host_not_allowed")
        case .pushSubjectMissing: (422, "push_subject_missing")
        case .queryNotAllowed: (400, "query_not_allowed")
        case .notFound: (404, "not_found")
        case .methodNotAllowed: (405, "method_not_allowed")
        case .contentTypeUnsupported: (415, "content_type_unsupported")
        case .adminTokenWrong: (401, "admin_token_wrong")
        case .browserRefused: (403, "browser_refused")
        case .rangeNotSatisfiable: (416, "range_not_satisfiable")
        case .proofNeeded: (429, "proof_needed")  // RFC 6585 §4
        case .wakeTooSoon: (429, "wake_too_soon")
        case .storeFull: (507, "store_full")
        case .storeUnavailable: (503, "store_unavailable")
        case .overloaded: (503, "overloaded")
        case .feedUnavailable: (503, "feed_unavailable")
        case .broadcastNotNewer: (409, "broadcast_not_newer")
        case .noBroadcastRunning: (409, "no_broadcast_running")
        case .rotationUnconfirmed: (409, "rotation_unconfirmed")
        case .signatureMissing: (401, "signature_missing")
        case .signatureMalformed: (401, "signature_malformed")
        case .signatureWrong: (401, "signature_wrong")
        case .signatureStale: (401, "signature_stale")
        case .signatureReplayed: (401, "signature_replayed")
        case .installationUnknown: (403, "installation_unknown")
        case .relayBatchMalformed: (400, "relay_batch_malformed")
        case .relayBatchTooLarge: (413, "relay_batch_too_large")
        case .relayBusy: (429, "relay_busy")
        case .relayUnavailable: (503, "relay_unavailable")
        case .obliviousTypeUnsupported: (415, "oblivious_type_unsupported")
        case .obliviousMalformed: (400, "oblivious_malformed")
        case .obliviousKey: (400, "oblivious_key")  // RFC 9458 §5.3
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
        case .memberMissing:
            "the body needs service, and token (webpush: endpoint, perhaps with keys)"
        case .serviceUnknown: "the service must be apns, apns-sandbox, fcm or webpush"
        case .pushTokenMalformed: "the push token is not of the form its service issues"
        case .pushTokenTooLong:
            "the push token is longer than its service's may be (an endpoint with keys: 506 bytes)"
        case .serviceOff: "this installation sends nothing through that push service"
        case .notNeeded: "this installation wakes apps of that push service by a topic"
        case .pushHostNotAllowed: "this installation sends nothing to the host of that endpoint"
        case .pushSubjectMissing:
            "Apple takes no push without a subject, and this installation has none"
        case .queryNotAllowed: "no path of this service takes a query"
        case .notFound: "nothing is served under this path"
        case .methodNotAllowed: "this path does not know this method"
        case .contentTypeUnsupported: "the body must be application/json"
        case .adminTokenWrong: "the token of the admin listener is missing or wrong"
        case .browserRefused: "the admin listener serves programs of its own machine, no web pages"
        case .rangeNotSatisfiable: "the range begins after the end"
        case .proofNeeded: "many register: solve the challenge and send the proof"
        case .wakeTooSoon: "a device can ask for one push in ten minutes"
        case .storeFull: "the store is full; deleting still works"
        case .storeUnavailable: "the store cannot be used at the moment"
        case .overloaded: "too much is waiting; try again"
        case .feedUnavailable: "no feed is published here yet"
        case .broadcastNotNewer: "the feed has nothing newer than the last broadcast"
        case .noBroadcastRunning: "no broadcast is running or waiting"
        case .rotationUnconfirmed: "clients had no time to renew; yes beside now does it even so"
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
        case .obliviousTypeUnsupported: "the body must be message/ohttp-req"
        case .obliviousMalformed: "the message is no encapsulated request, or none is in it"
        case .obliviousKey: "the message is for another key or suite, or was altered"
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
