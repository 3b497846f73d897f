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
    case notFound
    case methodNotAllowed
    case rangeNotSatisfiable
    case storeFull
    case storeUnavailable
    case overloaded
    case tooManyStreams
    case feedUnavailable
    case broadcastPending
    case broadcastNotNewer

    package var status: UInt16 {
        switch self {
        case .instanceTokenMissing, .instanceTokenMalformed: 401
        case .bodyMalformed, .bodyTooDeep, .memberDuplicate, .memberUnknown, .memberMissing,
            .serviceUnknown, .pushTokenMalformed:
            400
        case .pushTokenTooLong: 413
        case .notFound: 404
        case .methodNotAllowed: 405
        case .rangeNotSatisfiable: 416
        case .storeFull: 507
        case .storeUnavailable, .overloaded, .tooManyStreams, .feedUnavailable: 503
        case .broadcastPending, .broadcastNotNewer: 409
        }
    }

    package var code: StaticString {
        switch self {
        case .instanceTokenMissing: "instance-token-missing"
        case .instanceTokenMalformed: "instance-token-malformed"
        case .bodyMalformed: "body-malformed"
        case .bodyTooDeep: "body-too-deep"
        case .memberDuplicate: "member-duplicate"
        case .memberUnknown: "member-unknown"
        case .memberMissing: "member-missing"
        case .serviceUnknown: "service-unknown"
        case .pushTokenMalformed: "push-token-malformed"
        case .pushTokenTooLong: "push-token-too-long"
        case .notFound: "not-found"
        case .methodNotAllowed: "method-not-allowed"
        case .rangeNotSatisfiable: "range-not-satisfiable"
        case .storeFull: "store-full"
        case .storeUnavailable: "store-unavailable"
        case .overloaded: "overloaded"
        case .tooManyStreams: "too-many-streams"
        case .feedUnavailable: "feed-unavailable"
        case .broadcastPending: "broadcast-pending"
        case .broadcastNotNewer: "broadcast-not-newer"
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
        case .notFound: "nothing is served under this path"
        case .methodNotAllowed: "this path does not know this method"
        case .rangeNotSatisfiable: "the range begins after the end"
        case .storeFull: "the store is full; deleting still works"
        case .storeUnavailable: "the store cannot be used at the moment"
        case .overloaded: "too much is waiting; try again"
        case .tooManyStreams: "too many event streams are open; poll the feed instead"
        case .feedUnavailable: "no feed is published here yet"
        case .broadcastPending: "a broadcast is under way"
        case .broadcastNotNewer: "the feed has nothing newer than the last broadcast"
        }
    }

    /// The `application/problem+json` body.
    package func encode() -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        text.member("title", string: title)
        text.member("status", number: status)
        text.member("code", string: code)
        text.endObject()
        return text.bytes
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
