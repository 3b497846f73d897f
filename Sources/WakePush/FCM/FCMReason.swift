private import WakeModel

/// The reasons of FCM that are told apart, from the body of an answer (firebase.google.com, "FCM
/// error codes", and google.rpc.Status).
package enum FCMReason: Sendable, Hashable, CaseIterable {
    /// The push token is no longer valid.
    case unregistered
    /// INVALID_ARGUMENT of FCM itself, and nothing else in the request is blamed.
    case tokenInvalid
    /// Something in the request that is not the push token is blamed.
    case requestInvalid
    case senderIDMismatch
    case quotaExceeded
    case unavailable
    case internalError
    case thirdPartyAuthError
}

extension FCMReason {
    /// Longest body that is read, bytes: FCM sends some hundreds.
    package static let bodyLimit = 4096
    /// A violation of a field is four deep within the error; what is nested deeper is not Google's.
    private static let depthLimit = 8

    /// The reason in the body of an answer:
    ///
    ///     {"error":{"code":404,"status":"NOT_FOUND","message":"…","details":[
    ///       {"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError",
    ///        "errorCode":"UNREGISTERED"}]}}
    ///
    /// nil for one that names none of these, and for everything that is not that, however it is
    /// not: no answer is believed that is not read to its end.
    package init?(body: Span<UInt8>) {
        guard !body.isEmpty, body.count <= Self.bodyLimit else { return nil }
        var details = Details()
        do throws(JSONError) {
            var scanner = try JSONScanner(body.array, depthLimit: Self.depthLimit)
            try scanner.document { scanner throws(JSONError) in
                try scanner.object { scanner, name throws(JSONError) in
                    if name.span.equals("error") {
                        try details.readError(&scanner)
                    } else {
                        try scanner.skip()
                    }
                }
            }
        } catch {
            return nil
        }
        guard let reason = details.reason else { return nil }
        self = reason
    }

    /// FcmError.errorCode.
    fileprivate init?(word: Span<UInt8>) {
        if word.equals("UNREGISTERED") {
            self = .unregistered
        } else if word.equals("INVALID_ARGUMENT") {
            self = .tokenInvalid
        } else if word.equals("SENDER_ID_MISMATCH") {
            self = .senderIDMismatch
        } else if word.equals("QUOTA_EXCEEDED") {
            self = .quotaExceeded
        } else if word.equals("UNAVAILABLE") {
            self = .unavailable
        } else if word.equals("INTERNAL") {
            self = .internalError
        } else if word.equals("THIRD_PARTY_AUTH_ERROR") {
            self = .thirdPartyAuthError
        } else {
            return nil
        }
    }
}

/// What the details of an error say.
private struct Details {
    private var code: FCMReason?
    /// A field of the request is blamed that is not the push token.
    private var blamesRequest = false

    var reason: FCMReason? {
        // Both details come together when FCM can say which field it is (message.token for a push
        // token that was never one).
        blamesRequest ? .requestInvalid : code
    }

    mutating func readError(_ scanner: inout JSONScanner) throws(JSONError) {
        var details = self
        try scanner.object { scanner, name throws(JSONError) in
            if name.span.equals("details") {
                try scanner.array { scanner throws(JSONError) in try details.readDetail(&scanner) }
            } else {
                try scanner.skip()
            }
        }
        self = details
    }

    /// A google.protobuf.Any: its type may stand anywhere in it.
    private mutating func readDetail(_ scanner: inout JSONScanner) throws(JSONError) {
        var type: [UInt8] = []
        var code: [UInt8] = []
        var violations = Violations()
        try scanner.object { scanner, name throws(JSONError) in
            if name.span.equals("@type") {
                type = try scanner.string()
            } else if name.span.equals("errorCode") {
                code = try scanner.string()
            } else if name.span.equals("fieldViolations") {
                try scanner.array { scanner throws(JSONError) in
                    try violations.read(&scanner)
                }
            } else {
                try scanner.skip()
            }
        }
        if type.span.equals("type.googleapis.com/google.firebase.fcm.v1.FcmError") {
            self.code = FCMReason(word: code.span)
        } else if type.span.equals("type.googleapis.com/google.rpc.BadRequest") {
            if violations.count == 0 || violations.others > 0 { blamesRequest = true }
        }
    }
}

/// google.rpc.BadRequest.FieldViolation
private struct Violations {
    var count = 0
    /// Of another field than the push token.
    var others = 0

    mutating func read(_ scanner: inout JSONScanner) throws(JSONError) {
        var field: [UInt8] = []
        try scanner.object { scanner, name throws(JSONError) in
            if name.span.equals("field") {
                field = try scanner.string()
            } else {
                try scanner.skip()
            }
        }
        count += 1
        if !field.span.equals("message.token") { others += 1 }
    }
}
