/// What can be wrong between a gateway and its relay so that no wake-up works until somebody
/// changes something.
package enum RelayFault: Sendable, Hashable {
    /// 403: the owner has not allowed the key, or has revoked it.
    case notAllowed
    /// 401: the relay does not find the request as it was signed.
    case signatureRefused
    /// 401: the relay takes fresh requests for old ones, or for ones of the future.
    /// - `difference`: seconds by which the relay's clock is ahead of ours; nil when it does not
    ///   tell.
    case clock(difference: Int?)
    /// 404
    case noRelay
    /// Any other refusal of what every request has in common.
    case requestRefused(status: Int)
    /// No TLS that may be trusted.
    case untrusted
    /// The relay has no gateway to this push service.
    case serviceOff
    /// The relay's gateway to this push service is misconfigured.
    case ownerMisconfigured

    /// A word for logs and metrics.
    package var word: StaticString {
        switch self {
        case .notAllowed: "relay-not-allowed"
        case .signatureRefused: "relay-signature"
        case .clock: "relay-clock"
        case .noRelay: "no-relay"
        case .requestRefused: "relay-request-refused"
        case .untrusted: "relay-untrusted"
        case .serviceOff: "relay-service-off"
        case .ownerMisconfigured: "relay-misconfigured"
        }
    }

    /// Two lines: what is wrong, and what to do.
    var words: String {
        let (problem, hint) = problemAndHint
        return "\(problem); nothing was deleted\nhint: \(hint)"
    }

    private var problemAndHint: (problem: String, hint: String) {
        switch self {
        case .notAllowed:
            (
                "the relay does not allow this installation",
                "ask the relay's owner to allow its key: reveille check prints it"
            )
        case .signatureRefused:
            (
                "the relay refused the signature",
                "set via to exactly the address that the relay's owner gives out, and check that "
                    + "nothing on the way changes requests"
            )
        case .clock(let difference): Self.clock(difference)
        case .noRelay:
            (
                "there is no relay at this address",
                "check via of this gateway, or ask the relay's owner whether it is on"
            )
        case .requestRefused(let status):
            (
                "the relay refused the request with status \(status)",
                "check that via of this gateway names a relay; otherwise report this"
            )
        case .untrusted:
            (
                "the certificate of the relay was refused",
                "check via and ca of this gateway, this machine's clock, and that "
                    + "ca-certificates is installed"
            )
        case .serviceOff:
            (
                "the relay does not wake this push service's tokens",
                "ask the relay's owner to turn it on, or remove via from this section"
            )
        case .ownerMisconfigured:
            (
                "the relay's own gateway to this push service is misconfigured",
                "tell the relay's owner: the relay's log says what is wrong"
            )
        }
    }

    private static func clock(_ difference: Int?) -> (problem: String, hint: String) {
        let problem = "the relay takes requests for too old or too new"
        let hint = "check this machine's clock (timedatectl status), or the relay's"
        return switch difference {
        case let seconds? where seconds > SignatureWindow.ahead:
            ("\(problem): its clock is \(seconds) seconds ahead of this machine's", hint)
        case let seconds? where seconds < -SignatureWindow.ahead:
            ("\(problem): its clock is \(-seconds) seconds behind this machine's", hint)
        case .some:
            (
                "\(problem), though the clocks agree",
                "check what stands in between: requests must arrive within "
                    + "\(SignatureWindow.past) seconds"
            )
        case nil: (problem, hint)
        }
    }
}
