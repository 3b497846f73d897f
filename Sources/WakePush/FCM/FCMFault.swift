/// What can be wrong with an FCM gateway so that no wake-up of it can work.
package enum FCMFault: Sendable, Hashable {
    /// invalid_grant (RFC 6749 §5.2): the assertion was refused.
    case grantRefused
    /// Any other refusal of the exchange.
    case exchangeRefused(status: Int)
    /// No TLS with where assertions are exchanged.
    case exchangeUntrusted
    /// libcrypto is out of memory.
    case cannotSign
    /// 401 for an access token that has never worked.
    case tokenRefused
    /// 403 PERMISSION_DENIED, or 403 with no reason that is known.
    case forbidden
    /// 404 without UNREGISTERED on a connection that has accepted nothing.
    case projectUnknown
    /// 403 SENDER_ID_MISMATCH on a connection that has accepted nothing.
    case tokensOfOtherProject
    /// 401 THIRD_PARTY_AUTH_ERROR on a connection that has accepted nothing.
    case tokensOfOtherPlatform
    /// 400 INVALID_ARGUMENT about the push token on a connection that has accepted nothing.
    case tokensRefused
    /// 400 about anything else, 405, 413 and other refusals of what every wake-up has in common:
    /// not FCM at the other end, or a fault of ours.
    case requestRefused(status: Int)

    /// A word for logs and metrics.
    package var word: StaticString {
        switch self {
        case .grantRefused: "grant-refused"
        case .exchangeRefused: "exchange-refused"
        case .exchangeUntrusted: "exchange-untrusted"
        case .cannotSign: "cannot-sign"
        case .tokenRefused: "access-token-refused"
        case .forbidden: "forbidden"
        case .projectUnknown: "project-unknown"
        case .tokensOfOtherProject: "tokens-of-other-project"
        case .tokensOfOtherPlatform: "tokens-of-other-platform"
        case .tokensRefused: "tokens-refused"
        case .requestRefused: "request-refused"
        }
    }

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        let (problem, hint) = words
        return "fcm: \(problem)\nhint: \(hint)"
    }

    private var words: (problem: String, hint: String) {
        switch self {
        case .grantRefused:
            (
                "the service account was refused when asking for an access token",
                "check this machine's clock (timedatectl status), and that the key of [fcm] key "
                    + "was not deleted in the Google Cloud console"
            )
        case .exchangeRefused(let status):
            (
                "asking for an access token was refused with status \(status)",
                "check token_uri in the file of [fcm] key, and that the service account is enabled"
            )
        case .exchangeUntrusted:
            (
                "no TLS, or an untrusted certificate, where access tokens are given out",
                "check ca of this gateway, this machine's clock, and that ca-certificates is "
                    + "installed"
            )
        case .cannotSign:
            (
                "out of memory while signing the request for an access token",
                "nothing was deleted; the next round tries again"
            )
        case .tokenRefused:
            (
                "a fresh access token was refused",
                "check that the service account of [fcm] key is enabled and of this project, and "
                    + "that no proxy removes the authorization field"
            )
        case .forbidden:
            (
                "the service account is not allowed to push",
                "enable the Firebase Cloud Messaging API in the project, and give the service "
                    + "account the role Firebase Cloud Messaging API Admin"
            )
        case .projectUnknown:
            (
                "the project is not known",
                "check project_id in the file of [fcm] key, and host and port, if set"
            )
        case .tokensOfOtherProject:
            (
                "every push token was refused as one of another project",
                "use the service account of the Firebase project that the app is built with; "
                    + "nothing was deleted"
            )
        case .tokensOfOtherPlatform:
            (
                "every push token was refused as one of a platform without credentials at FCM",
                "register tokens of Apple devices as apns and of browsers as webpush; nothing was "
                    + "deleted"
            )
        case .tokensRefused:
            (
                "every push token was refused as no token of FCM",
                "check what the app registers as fcm; nothing was deleted"
            )
        case .requestRefused(let status):
            (
                "the request itself was refused with status \(status)",
                "check that [fcm] host and port, if set, name FCM; otherwise report this"
            )
        }
    }
}
