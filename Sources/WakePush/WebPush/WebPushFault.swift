/// What can be wrong with the Web Push gateway so that no wake-up of it works. Each is said only
/// when nothing at all was accepted in a round: one host, or one endpoint, says nothing about all.
package enum WebPushFault: Sendable, Hashable {
    /// 401 or 403: the push services know another key, or the token is not right.
    case keyRefused(status: Int)
    /// 400, 413, 3xx and other refusals of what every wake-up has in common.
    case requestRefused(status: Int)
    /// 404, or many a 410, from hosts that accepted nothing.
    case endpointsUnknown
    /// No TLS that may be trusted.
    case untrusted
    /// Every host has an address that is not public.
    case addressesRefused

    /// A word for logs and metrics.
    package var word: StaticString {
        switch self {
        case .keyRefused: "key-refused"
        case .requestRefused: "request-refused"
        case .endpointsUnknown: "endpoints-unknown"
        case .untrusted: "untrusted"
        case .addressesRefused: "addresses-refused"
        }
    }

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        let (problem, hint) = words
        return "webpush: \(problem)\nhint: \(hint)"
    }

    private var words: (problem: String, hint: String) {
        switch self {
        case .keyRefused(let status):
            (
                "the key was refused by every push service, with status \(status)",
                "check that apps subscribe with the public key that reveille check shows, that "
                    + "[webpush] subject is set (Apple refuses wake-ups without), and this "
                    + "machine's clock; nothing was deleted"
            )
        case .requestRefused(let status):
            (
                "every wake-up was refused, with status \(status)",
                "check [webpush] body and connect, if set; nothing was deleted"
            )
        case .endpointsUnknown:
            (
                "every endpoint was called unknown, by hosts that accepted nothing",
                "check [webpush] connect, if set; at most three of a host were deleted"
            )
        case .untrusted:
            (
                "no TLS that may be trusted with any push service; nothing was sent",
                "check [webpush] ca and connect, if set, this machine's clock, and that "
                    + "ca-certificates is installed"
            )
        case .addressesRefused:
            (
                "every push service has an address that is not public; nothing was sent",
                "check this machine's name service, or name in [webpush] networks the network "
                    + "that a push service of your own is in"
            )
        }
    }
}
