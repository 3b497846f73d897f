import WakeSystem

/// The meaning of every answer of a Web Push or UnifiedPush service; bodies hold no reasons.
/// Anybody may register any endpoint: refusals are the gateway's fault only when no host accepts
/// anything in the round.
package enum WebPushResponses {
    package typealias Table = ResponseTable<Never>
    private typealias Row = Table.Row

    package static let table = Table(
        rows: [
            // RFC 8030 §5: 201. UnifiedPush (SERV): all of 200 to 299 "as a 201".
            Row(200...299, nil, .accepted),
            // RFC 8292 §4.2: another key than the one subscribed with, or a bad token.
            Row(401, nil, .refused(or: .webPush(.keyRefused(status: 401)))),
            Row(403, nil, .refused(or: .webPush(.keyRefused(status: 403)))),
            // RFC 8030 §7.3: expired or never was; also any web server that is misconfigured.
            Row(404, nil, .invalid(or: .webPush(.endpointsUnknown))),
            // RFC 9110 §15.5.9: a connection that was idle for too long.
            Row(408, nil, .retry(.serviceFault)),
            // RFC 9110 §15.5.11: "likely to be permanent". Of a host that has accepted nothing a
            // few are believed (``PushHost/unprovenGoneLimit``), others as 404.
            Row(410, nil, .gone),
            // RFC 8030 §8.4: too many for this endpoint; others are none the worse.
            Row(429, nil, .retry(.throttled)),
            // Most pass soon; those that do not: see `isFinal`.
            Row(500...599, nil, .retry(.serviceFault)),
        ],
        // 3xx is never followed: its target was not checked. 400, 405, 413 and others: ours.
        unknown: { .webPush(.requestRefused(status: $0)) })

    package static let throttledSeconds = 5

    /// Seconds that Microsoft's service is left alone for when it does not say for how long.
    package static let hostThrottledSeconds = 60

    package static func verdict(
        status: Int, retryAfter: Int? = nil, of kind: PushHostKind = .other
    ) -> Verdict {
        // RFC 9110 §10.2.3: to say when to come again is not to refuse, but for what time does not
        // change: the endpoint (404, 410), and the key that each request would show again (401).
        let isLater = retryAfter != nil && (400...499).contains(status)
        if throttlesHost(status, kind) || isLater && ![401, 404, 410].contains(status) {
            return .delivery(.retry(.throttled))
        }
        return table.verdict(status: status, reason: nil)
    }

    /// Whether an answer is about every endpoint of the host: 406 of Microsoft's push service.
    package static func throttlesHost(_ status: Int, _ kind: PushHostKind) -> Bool {
        status == 406 && kind == .microsoft
    }

    /// Whether trying again in the same round is of no use: ntfy answers 507 where nobody listens,
    /// and 501, 505 and the like are what a server is or is not (RFC 9110 §15.6).
    package static func isFinal(_ status: Int) -> Bool {
        [501, 505, 506, 507, 508, 510, 511].contains(status)
    }
}

/// A fault of the Web Push gateway, reported only when nothing was accepted in a round.
package enum WebPushFault: Sendable, Hashable {
    case keyRefused(status: Int)
    case requestRefused(status: Int)
    case endpointsUnknown, untrusted, addressesRefused

    package var name: StaticString {
        switch self {
        case .keyRefused: "key-refused"
        case .requestRefused: "request-refused"
        case .endpointsUnknown: "endpoints-unknown"
        case .untrusted: "untrusted"
        case .addressesRefused: "addresses-refused"
        }
    }

    package var message: String { "webpush: \(description)" }

    private var description: String {
        switch self {
        case .keyRefused(let status):
            "the key was refused by every push service, with status \(status)\nhint: check that "
                + "apps subscribe with the public key that reveille check shows, that [webpush] "
                + "subject is set (Apple refuses wake-ups without), and this machine's clock; "
                + "nothing was deleted"
        case .requestRefused(let status):
            "every wake-up was refused, with status \(status)\n"
                + "hint: check [webpush] body and connect, if set; nothing was deleted"
        case .endpointsUnknown:
            "every endpoint was called unknown, by hosts that accepted nothing\n"
                + "hint: check [webpush] connect, if set; at most three of a host were deleted"
        case .untrusted:
            "no TLS that may be trusted with any push service; nothing was sent\n"
                + "hint: check [webpush] ca and connect, if set, this machine's clock, and that "
                + "ca-certificates is installed"
        case .addressesRefused:
            "every push service has an address that is not public; nothing was sent\nhint: check "
                + "this machine's name service; name in [webpush] networks the network that a push "
                + "service of your own is in, and in nat64 the prefix of a translator of your own"
        }
    }
}
