/// Answers of FCM (firebase.google.com, "FCM error codes"; google.rpc.Status).
enum FCMError {
    /// A body as Google's: `status` and details by the reason's name.
    /// - Parameters:
    ///   - reason: an FcmError, or BAD_REQUEST for a BadRequest about another field than the push
    ///     token, BAD_TOKEN for both details, and names of google.rpc.Code that come without any.
    static func answer(_ status: Int, _ reason: String, retryAfter: Int? = nil) -> HTTPAnswer {
        .json(status, body(status, reason), retryAfter: retryAfter)
    }

    static func violation(of field: String, _ what: String) -> HTTPAnswer {
        .json(400, document(400, "INVALID_ARGUMENT", what, [badRequest(field, what)]))
    }

    private static func body(_ status: Int, _ reason: String) -> String {
        switch reason {
        case "": document(status, code(status), "The service says no.", [])
        case "UNREGISTERED":
            document(status, "NOT_FOUND", "Requested entity was not found.", [fcm(reason)])
        case "INVALID_ARGUMENT":
            document(
                status, reason,
                "The registration token is not a valid FCM registration token", [fcm(reason)])
        case "BAD_TOKEN":
            document(
                status, "INVALID_ARGUMENT",
                "The registration token is not a valid FCM registration token",
                [
                    fcm("INVALID_ARGUMENT"),
                    badRequest("message.token", "Invalid registration token"),
                ])
        case "BAD_REQUEST":
            document(
                status, "INVALID_ARGUMENT", "Request contains an invalid argument.",
                [badRequest("message.android.ttl", "Illegal duration format")])
        case "SENDER_ID_MISMATCH":
            document(status, "PERMISSION_DENIED", "SenderId mismatch", [fcm(reason)])
        case "THIRD_PARTY_AUTH_ERROR":
            document(
                status, "UNAUTHENTICATED", "Auth error from APNS or Web Push Service",
                [fcm(reason)])
        case "QUOTA_EXCEEDED":
            document(
                status, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric",
                [fcm(reason), quota])
        case "UNAVAILABLE":
            document(status, reason, "The service is currently unavailable.", [fcm(reason)])
        case "INTERNAL":
            document(status, reason, "Internal error encountered.", [fcm(reason)])
        default: document(status, reason, "Request was refused.", [])
        }
    }

    private static func code(_ status: Int) -> String {
        switch status {
        case 400: "INVALID_ARGUMENT"
        case 401: "UNAUTHENTICATED"
        case 403: "PERMISSION_DENIED"
        case 404: "NOT_FOUND"
        case 429: "RESOURCE_EXHAUSTED"
        case 503: "UNAVAILABLE"
        case 500...599: "INTERNAL"
        default: "UNKNOWN"
        }
    }

    private static func fcm(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    private static func badRequest(_ field: String, _ what: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":""#
            + field + #"","description":""# + what + #""}]}"#
    }

    private static let quota =
        #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"#
        + #""project","description":"messages per minute"}]}"#

    private static func document(
        _ status: Int, _ code: String, _ message: String, _ details: [String]
    ) -> String {
        let tail = details.isEmpty ? "" : ",\"details\":[\(details.joined(separator: ","))]"
        return "{\"error\":{\"code\":\(status),\"message\":\"\(message)\",\"status\":\"\(code)\""
            + tail + "}}"
    }
}
