private import WakeModel
import WakeSystem

/// The meaning of every answer of FCM, as a table.
package enum FCMResponses {
    package typealias Table = ResponseTable<FCMReason>
    private typealias Row = Table.Row

    package static let table = Table(
        rows: [
            Row(200, nil, .accepted),
            Row(404, .unregistered, .gone),
            // NOT_FOUND without a reason: the project, or a proxy.
            Row(404, nil, .refused(or: .fcm(.projectUnknown))),
            // Google, "Manage FCM registration tokens": of the token only if the message is right.
            Row(400, .tokenInvalid, .invalid(or: .fcm(.tokensRefused))),
            Row(400, .targetRefused, .refused(or: .fcm(.tokensRefused))),
            Row(400, .requestInvalid, .misconfigured(.fcm(.requestRefused(status: 400)))),
            Row(400, nil, .refused(or: .fcm(.requestRefused(status: 400)))),
            Row(401, .thirdPartyAuthError, .refused(or: .fcm(.tokensOfOtherPlatform))),
            // UNAUTHENTICATED: if a few say so, `FCMTokenPolicy` asks for another token.
            Row(401, nil, .retry(.providerTokenExpired)),
            Row(403, .senderIDMismatch, .refused(or: .fcm(.tokensOfOtherProject))),
            // PERMISSION_DENIED, or the API is not enabled.
            Row(403, nil, .misconfigured(.fcm(.forbidden))),
            Row(405, nil, .misconfigured(.fcm(.requestRefused(status: 405)))),
            Row(413, nil, .misconfigured(.fcm(.requestRefused(status: 413)))),
            Row(429, nil, .retry(.throttled)),
            Row(500...599, nil, .retry(.serviceFault)),
        ],
        // 400 for reasons to come, 3xx, 409, 999.
        unknown: { .fcm(.requestRefused(status: $0)) })

    /// Seconds to wait at least after 429 ("Best practices when sending FCM messages at scale").
    package static let throttledSeconds = 60

    /// - Parameter body: the first bytes of the body of a refusal.
    package static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        table.verdict(
            status: status, reason: status == 200 ? nil : FCMReason(body: body), body: body,
            stranger: .fcm(.proxyRefused))
    }

    /// Whether an answer may only mean that the push token belongs into the other field.
    static func blamesTarget(_ verdict: Verdict) -> Bool {
        if case .delivery = verdict { false } else { targetVerdicts.contains(verdict) }
    }

    private static let targetVerdicts = [FCMReason.tokenInvalid, .targetRefused].map {
        table.verdict(status: 400, reason: $0)
    }
}

/// The reasons of FCM that are distinguished ("FCM error codes", and google.rpc.Status).
package enum FCMReason: String, Sendable, Hashable, CaseIterable {
    case unregistered = "UNREGISTERED"
    /// INVALID_ARGUMENT of FCM itself, and nothing else in the request is blamed.
    case tokenInvalid = "INVALID_ARGUMENT"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case internalError = "INTERNAL"
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
    /// Google's front blames the push token, FCM itself says nothing; not an `errorCode`.
    case targetRefused = "message.token"
    /// Another part of the request than the push token is blamed; not an `errorCode`.
    case requestInvalid = ""

    /// Bytes of a body at most: FCM sends some hundreds.
    package static let bodyLimit = 4096
    /// A violation of a field is four deep within the error.
    private static let depthLimit = 8

    /// The reason in the body of an answer, read to its end; nil when it names none of these:
    ///
    ///     {"error":{"code":404,"status":"NOT_FOUND","message":"…","details":[{"@type":
    ///     "type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}
    package init?(body: Span<UInt8>) {
        guard !body.isEmpty, body.count <= Self.bodyLimit else { return nil }
        var details = Details()
        let isRead: Void? = try? JSONScanner.readObject(body.array, depthLimit: Self.depthLimit) {
            scanner, name throws(JSONError) in
            guard name.span.equals("error") else { return try scanner.skip() }
            try details.readError(&scanner)
        }
        guard isRead != nil, let reason = details.reason else { return nil }
        self = reason
    }
}

private struct Details {
    private var code: FCMReason?
    /// Another field of the request than the push token is blamed.
    private var blamesRequest = false
    private var blamesTarget = false

    /// Both details come together when FCM names the field (message.token for a malformed token).
    var reason: FCMReason? {
        blamesRequest ? .requestInvalid : code ?? (blamesTarget ? .targetRefused : nil)
    }

    mutating func readError(_ scanner: inout JSONScanner) throws(JSONError) {
        var details = self
        try scanner.object { scanner, name throws(JSONError) in
            guard name.span.equals("details") else { return try scanner.skip() }
            try scanner.array { scanner throws(JSONError) in try details.readDetail(&scanner) }
        }
        self = details
    }

    /// A google.protobuf.Any, whose type may be its last member.
    private mutating func readDetail(_ scanner: inout JSONScanner) throws(JSONError) {
        var (type, code): ([UInt8], [UInt8]) = ([], [])
        var blamed: [Bool] = []
        try scanner.object { scanner, name throws(JSONError) in
            switch String(decoding: name, as: UTF8.self) {
            case "@type": type = try scanner.string()
            case "errorCode": code = try scanner.string()
            case "fieldViolations":
                try scanner.array { scanner throws(JSONError) in
                    blamed.append(try Self.isViolationOfTarget(&scanner))
                }
            default: try scanner.skip()
            }
        }
        if type.span.equals("type.googleapis.com/google.firebase.fcm.v1.FcmError") {
            self.code =
                code.isEmpty ? nil : FCMReason(rawValue: String(decoding: code, as: UTF8.self))
        } else if type.span.equals("type.googleapis.com/google.rpc.BadRequest") {
            if blamed.contains(true), !blamed.contains(false) {
                blamesTarget = true
            } else {
                blamesRequest = true
            }
        }
    }

    /// google.rpc.BadRequest.FieldViolation: whether the push token or topic is blamed, or its
    /// field is one that this front does not know (any more).
    private static func isViolationOfTarget(
        _ scanner: inout JSONScanner
    ) throws(JSONError) -> Bool {
        var (field, description): ([UInt8], [UInt8]) = ([], [])
        try scanner.object { scanner, name throws(JSONError) in
            switch String(decoding: name, as: UTF8.self) {
            case "field": field = try scanner.string()
            case "description": description = try scanner.string()
            default: try scanner.skip()
            }
        }
        let targets: [StaticString] = ["message.token", "message.fid", "message.topic"]
        if targets.contains(where: { field.span.equals($0) }) { return true }
        return field.span.equals("message")
            && ["token", "fid"].contains { description.contains("Unknown name \"\($0)\"".utf8) }
    }
}

/// A fault of the FCM gateway that every wake-up meets.
package enum FCMFault: Sendable, Hashable {
    case grantRefused, exchangeUntrusted, cannotSign, tokenRefused, forbidden, projectUnknown
    case tokensOfOtherProject, tokensOfOtherPlatform, tokensRefused, topicRefused
    case subjectToken, metadataServer, proxyRefused
    case exchangeRefused(status: Int)
    case impersonationRefused(status: Int)
    case requestRefused(status: Int)

    package var name: StaticString {
        switch self {
        case .grantRefused: "grant-refused"
        case .exchangeRefused: "exchange-refused"
        case .exchangeUntrusted: "exchange-untrusted"
        case .subjectToken: "subject-token"
        case .metadataServer: "metadata-server"
        case .impersonationRefused: "impersonation-refused"
        case .cannotSign: "cannot-sign"
        case .tokenRefused: "access-token-refused"
        case .forbidden: "forbidden"
        case .projectUnknown: "project-unknown"
        case .tokensOfOtherProject: "tokens-of-other-project"
        case .tokensOfOtherPlatform: "tokens-of-other-platform"
        case .tokensRefused: "tokens-refused"
        case .topicRefused: "topic-refused"
        case .proxyRefused: "proxy-refused"
        case .requestRefused: "request-refused"
        }
    }

    package var message: String { "fcm: \(description)" }

    private var description: String {
        switch self {
        case .grantRefused:
            "the service account was refused when asking for an access token\nhint: check this "
                + "machine's clock (timedatectl status), and that the key of [fcm] key was not "
                + "deleted in the Google Cloud console"
        case .exchangeRefused(let status):
            "asking for an access token was refused with status \(status)\nhint: check token_uri "
                + "(token_url and audience) in the file of [fcm] key, or that this machine has an "
                + "account, and that the account is enabled"
        case .subjectToken:
            "the other provider's token is not there, or Google refuses it\nhint: check "
                + "credential_source and audience in the file of [fcm] key, that this service may "
                + "read it, and this machine's clock"
        case .metadataServer:
            "what answers at the address of Google's metadata server is another server; its token "
                + "was not taken\nhint: credentials = metadata is for machines of Google's; "
                + "elsewhere set key. Check GCE_METADATA_HOST and this machine's name service"
        case .impersonationRefused(let status):
            "a token of the service account was refused with status \(status)\nhint: give the "
                + "federated identity the role Workload Identity User on that service account"
        case .exchangeUntrusted:
            "no TLS, or an untrusted certificate, where access tokens are given out\nhint: check "
                + "ca of this gateway, this machine's clock, and that ca-certificates is installed"
        case .cannotSign:
            "OpenSSL refused to sign the request for an access token\nhint: "
                + OpenSSLReason.hint
        case .tokenRefused:
            "a fresh access token was refused\nhint: check that the service account of [fcm] key "
                + "is enabled and of this project, and that no proxy removes the authorization "
                + "field"
        case .forbidden:
            "the service account is not allowed to push\nhint: enable the Firebase Cloud Messaging "
                + "API in the project, and give the service account the role Firebase Cloud "
                + "Messaging API Admin; a machine of Google's needs the access scope "
                + "cloud-platform, too"
        case .projectUnknown:
            "the project is not known\n"
                + "hint: check project_id in the file of [fcm] key, and host and port, if set"
        case .tokensOfOtherProject:
            "every push token was refused as one of another project\nhint: use the service account "
                + "of the Firebase project that the app is built with; nothing was deleted"
        case .tokensOfOtherPlatform:
            "every push token was refused as one of a platform without credentials at FCM\nhint: "
                + "register tokens of Apple devices as apns and of browsers as webpush; nothing "
                + "was deleted"
        case .tokensRefused:
            "every push token was refused as no token of FCM\n"
                + "hint: check what the app registers as fcm; nothing was deleted"
        case .topicRefused:
            "the topic was refused\n"
                + "hint: check topic in [fcm]; it is the name to which the app subscribes"
        case .proxyRefused:
            "a web page with status 403 came in place of an answer of FCM\nhint: a proxy or "
                + "firewall is between: let this machine reach the push service; the account is "
                + "not to blame"
        case .requestRefused(let status):
            "the request itself was refused with status \(status)\n"
                + "hint: check that [fcm] host and port, if set, name FCM; otherwise report this"
        }
    }
}
