/// The flags of the mock of FCM.
struct FCMOptions: ServiceOptions {
    var common = CommonOptions()
    /// A port of its own for the exchange, without TLS; nil: none.
    var tokenPort: UInt16?

    // What an assertion must have; nil is not checked.
    var publicKey: String?
    var keyID: String?
    var email: String?
    var audience: String?

    // What a message must have.
    var project: String?
    var lifetime: Int?
    var dataKey: String?
    var collapseKey: String?
    /// The only one of `token` and `fid` that names anybody; nil: either does.
    var field: String?

    /// Seconds an access token is good for.
    var tokenLifetime = 3599
    /// Milliseconds of an exchange.
    var tokenLatency = 0
    var tokenAnswers: [(every: Int, answer: ScriptedAnswer)] = []
    var tokenFirstAnswers: [(count: Int, answer: ScriptedAnswer)] = []
    var tokenAnswerAll: ScriptedAnswer?
    /// At every so many messages, what was issued so far ceases to be good.
    var revokeEvery = 0

    static let about = """
        FCM v1 and the place where access tokens are given out: POST /v1/projects/P/messages:send
        and POST /token, by HTTP/2 or HTTP/1.1, with TLS or without. An ANSWER is
        STATUS[:REASON[:RETRY-AFTER]]; reasons of messages are those of FcmError (UNREGISTERED,
        INVALID_ARGUMENT, SENDER_ID_MISMATCH, QUOTA_EXCEEDED, UNAVAILABLE, INTERNAL,
        THIRD_PARTY_AUTH_ERROR), BAD_REQUEST for a BadRequest about another field than the push
        token, BAD_TOKEN for both details, or UNAUTHENTICATED and the like, without details; those
        of exchanges are errors of OAuth, e.g. invalid_grant. Example:

          mock-push --service fcm --public-key rsa.pem --token-port 0 --answer 10:404:UNREGISTERED

        """

    static var flags: [Flag<FCMOptions>] { checks + faults }

    private static var checks: [Flag<FCMOptions>] {
        [
            Flag(
                name: "--token-port", takes: "N",
                does: "POST /token there, too, without TLS; the second line says where"
            ) { options, value in
                options.tokenPort = UInt16(value)
                return options.tokenPort != nil
            },
            .text(
                "--public-key", "FILE", "verify assertions with this PEM key, RS256",
                \.publicKey),
            .text("--key-id", "TEXT", "kid of assertions", \.keyID),
            .text("--email", "TEXT", "iss of assertions", \.email),
            .text("--audience", "URL", "aud of assertions (where they came)", \.audience),
            .text("--project", "TEXT", "in the path of messages", \.project),
            Flag(name: "--lifetime", takes: "S", does: "android.ttl, exactly") { options, value in
                options.lifetime = Int(value)
                return options.lifetime != nil
            },
            .text("--data-key", "TEXT", "the one key in data", \.dataKey),
            .text("--collapse-key", "TEXT", "android.collapse_key", \.collapseKey),
            .text("--field", "NAME", "token or fid, the other one is refused", \.field),
        ]
    }

    private static var faults: [Flag<FCMOptions>] {
        [
            .number(
                "--token-lifetime", "S", "expires_in, and no longer (3599)", \.tokenLifetime),
            .number("--token-latency", "MS", "from exchange to answer", \.tokenLatency),
            .counted("--token-answer", "at every Nth proper exchange, e.g. 2:500") {
                $0.tokenAnswers.append(($1, $2))
            },
            .counted("--token-answer-first", "to the first N, e.g. 1:400:invalid_grant") {
                $0.tokenFirstAnswers.append(($1, $2))
                $0.tokenFirstAnswers.sort { $0.count < $1.count }
            },
            .answer("--token-answer-all", "to every proper exchange", \.tokenAnswerAll),
            .number(
                "--revoke-every", "N", "at every Nth message, tokens so far become invalid",
                \.revokeEvery),
        ]
    }
}
