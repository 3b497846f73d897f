/// A fault between a gateway and its relay that every wake-up meets.
package enum RelayFault: Sendable, Hashable {
    case notAllowed, signatureRefused, noRelay, untrusted, serviceOff, ownerMisconfigured
    /// `difference`: seconds by which the relay's clock is ahead; 0 within its tolerance, nil when
    /// unknown.
    case clock(difference: Int?)
    case requestRefused(status: Int)

    package var name: StaticString {
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

    var message: String {
        switch self {
        case .notAllowed:
            "the relay does not allow this installation; nothing was deleted\n"
                + "hint: ask the relay's owner to allow its key: reveille check prints it"
        case .signatureRefused:
            "the relay refused the signature; nothing was deleted\nhint: set via to exactly the "
                + "address that the relay's owner gives out, and check that nothing on the way "
                + "changes requests"
        case .clock(let difference): Self.clock(difference)
        case .noRelay:
            "there is no relay at this address; nothing was deleted\n"
                + "hint: check via of this gateway, or ask the relay's owner whether it is on"
        case .requestRefused(let status):
            "the relay refused the request with status \(status); nothing was deleted\n"
                + "hint: check that via of this gateway names a relay; otherwise report this"
        case .untrusted:
            "the certificate of the relay was refused; nothing was deleted\nhint: check via and ca "
                + "of this gateway, this machine's clock, and that ca-certificates is installed"
        case .serviceOff:
            "the relay does not wake this push service's tokens; nothing was deleted\n"
                + "hint: ask the relay's owner to turn it on, or remove via from this section"
        case .ownerMisconfigured:
            "the relay's own gateway to this push service is misconfigured; nothing was deleted\n"
                + "hint: tell the relay's owner: the relay's log says what is wrong"
        }
    }

    private static func clock(_ difference: Int?) -> String {
        let detail =
            switch difference {
            case .some(0): ", though the clocks agree"
            case let seconds? where seconds > 0:
                ": its clock is \(seconds) seconds ahead of this machine's"
            case let seconds?: ": its clock is \(-seconds) seconds behind this machine's"
            case nil: ""
            }
        let hint =
            difference == 0
            ? "check what stands in between: requests must arrive within a minute"
            : "check this machine's clock (timedatectl status), or the relay's"
        return "the relay takes requests for too old or too new\(detail); nothing was deleted\n"
            + "hint: \(hint)"
    }
}
