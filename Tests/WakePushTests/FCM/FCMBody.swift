@testable import WakePush

/// Bodies as Google writes them.
enum FCMBody {
    /// With the detail of FCM.
    static func fcm(_ code: String, _ status: Int) -> String {
        error(status, [fcmDetail(code)])
    }

    /// With the detail of Google's front, which names fields.
    static func badRequest(_ fields: String...) -> String { error(400, [badDetail(fields)]) }

    /// With both.
    static func both(_ field: String) -> String {
        error(400, [fcmDetail("INVALID_ARGUMENT"), badDetail([field])])
    }

    /// Without details.
    static func plain(_ word: String, _ status: Int) -> String {
        """
        {
          "error": {
            "code": \(status),
            "message": "Requested entity was not found.",
            "status": "\(word)"
          }
        }

        """
    }

    static func of(_ reason: FCMReason) -> String {
        switch reason {
        case .unregistered: fcm("UNREGISTERED", 404)
        case .tokenInvalid: fcm("INVALID_ARGUMENT", 400)
        case .targetRefused: badRequest("message.fid")
        case .requestInvalid: badRequest("message.data[0].value")
        case .senderIDMismatch: fcm("SENDER_ID_MISMATCH", 403)
        case .quotaExceeded: fcm("QUOTA_EXCEEDED", 429)
        case .unavailable: fcm("UNAVAILABLE", 503)
        case .internalError: fcm("INTERNAL", 500)
        case .thirdPartyAuthError: fcm("THIRD_PARTY_AUTH_ERROR", 401)
        }
    }

    private static func error(_ status: Int, _ details: [String]) -> String {
        """
        {
          "error": {
            "code": \(status),
            "message": "Request contains \\"something\\".",
            "status": "SOME_STATUS",
            "details": [
              \(details.joined(separator: ",\n"))
            ]
          }
        }

        """
    }

    private static func fcmDetail(_ code: String) -> String {
        """
        {
          "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
          "errorCode": "\(code)"
        }
        """
    }

    private static func badDetail(_ fields: [String]) -> String {
        let violations = fields.map {
            #"{"field": "\#($0)", "description": "Invalid value (TYPE_STRING), 12"}"#
        }
        return """
            {
              "@type": "type.googleapis.com/google.rpc.BadRequest",
              "fieldViolations": [\(violations.joined(separator: ", "))]
            }
            """
    }
}
