/// What every answer of a Web Push or UnifiedPush service means, as a table.
///
/// Anybody may register an endpoint, also one that was made for another key or that never was: what
/// a push service says of it must not stop the gateway for all. Such answers are the gateway's
/// fault only when no host accepts anything in this round.
package enum WebPushAnswers {
    /// The meaning of one row.
    package enum Meaning: Sendable, Hashable {
        case accepted
        /// Of a host that has accepted nothing yet only a few are believed at once
        /// (``PushHost/unprovenGoneLimit``), the others as those of 404.
        case gone
        /// Of 404 alone: any web server says so when its configuration is wrong, for everything.
        /// Believed once the same host has accepted a wake-up of this round; else nothing is
        /// deleted, and what is not renewed goes with its generation.
        case goneIfHostAccepted(else: WebPushFault)
        case retry(RetryCause)
        /// Nothing is deleted.
        case refused(WebPushFault)
        /// Refused in a way this program does not know. Never `gone`.
        case unknown
    }

    package struct Row: Sendable {
        package let status: ClosedRange<Int>
        package let meaning: Meaning

        init(_ status: Int, _ meaning: Meaning) { self.init(status...status, meaning) }

        init(_ status: ClosedRange<Int>, _ meaning: Meaning) {
            self.status = status
            self.meaning = meaning
        }
    }

    /// The first row that fits holds.
    package static let rows: [Row] = [
        // RFC 8030 §5: 201. UnifiedPush (SERV): all of 200 to 299 "as a 201".
        Row(200...299, .accepted),
        // Never followed: where it leads was not checked.
        Row(300...399, .refused(.requestRefused(status: 300))),
        // RFC 8292 §4.2: the key is not the one that was subscribed with, or the token is no good.
        Row(401, .refused(.keyRefused(status: 401))),
        Row(403, .refused(.keyRefused(status: 403))),
        // RFC 8030 §7.3: the subscription has expired, or never was.
        Row(404, .goneIfHostAccepted(else: .endpointsUnknown)),
        // RFC 9110 §15.5.9: a connection that was idle for too long.
        Row(408, .retry(.serviceFault)),
        // RFC 9110 §15.5.11: "likely to be permanent"; few say so by mistake.
        Row(410, .gone),
        // RFC 8030 §8.4: too many for this endpoint; others are none the worse.
        Row(429, .retry(.throttled)),
        // 400, 405, 411, 413 and others: of ours.
        Row(400...499, .unknown),
        // 507 too: a service that is full has room again, or ntfy where nobody listens just now.
        Row(500...599, .retry(.serviceFault)),
        Row(Int.min...Int.max, .unknown),
    ]

    /// Seconds to wait at least after 429.
    package static let throttledSeconds = 5

    package static func verdict(status: Int) -> Verdict {
        switch rows.first(where: { $0.status.contains(status) })?.meaning {
        case .accepted: .delivery(.accepted)
        case .gone: .delivery(.gone)
        case .goneIfHostAccepted(let fault): .unproven(then: .gone, or: .webPush(fault))
        case .retry(let cause): .delivery(.retry(cause))
        case .refused(.requestRefused), .unknown, nil:
            .unproven(
                then: .retry(.unknownRefusal), or: .webPush(.requestRefused(status: status)))
        case .refused(let fault):
            .unproven(then: .retry(.unknownRefusal), or: .webPush(fault))
        }
    }
}
