/// The meaning of every answer of a push service: the first row that fits holds. Anybody may
/// register a false push token; an answer that blames the token for a possible fault of the gateway
/// is believed only when others were accepted: such rows are ``Verdict/ambiguous(then:or:)``.
package struct ResponseTable<Reason: Hashable & Sendable>: Sendable {
    package struct Row: Sendable {
        package let status: ClosedRange<Int>
        /// nil: any reason, none, or one that is not known.
        package let reason: Reason?
        package let verdict: Verdict

        init(_ status: Int, _ reason: Reason? = nil, _ verdict: Verdict) {
            self.init(status...status, reason, verdict)
        }

        init(_ status: ClosedRange<Int>, _ reason: Reason? = nil, _ verdict: Verdict) {
            (self.status, self.reason, self.verdict) = (status, reason, verdict)
        }
    }

    package let rows: [Row]
    /// The fault when answers that fit no row are all there are. Never `gone`: such an answer is
    /// about one push token or every wake-up.
    package let unknown: @Sendable (_ status: Int) -> Misconfiguration

    /// - Parameters:
    ///   - body: of the answer; the push services answer in JSON, proxies and firewalls with pages.
    ///   - stranger: the fault when such a page forbids the request.
    func verdict(
        status: Int, reason: Reason?, body: Span<UInt8>, stranger: Misconfiguration
    ) -> Verdict {
        var isPage = false
        for index in body.indices where ![9, 10, 13, 32].contains(body[index]) {
            isPage = body[index] == UInt8(ascii: "<")
            break
        }
        return status == 403 && isPage
            ? .misconfigured(stranger) : verdict(status: status, reason: reason)
    }

    func verdict(status: Int, reason: Reason?) -> Verdict {
        let row = rows.first { row in
            row.status.contains(status) && (row.reason == nil || row.reason == reason)
        }
        return row?.verdict ?? .refused(or: unknown(status))
    }
}

extension Verdict {
    static let accepted = Verdict.delivery(.accepted)
    static let gone = Verdict.delivery(.gone)

    static func retry(_ cause: RetryCause) -> Verdict { .delivery(.retry(cause)) }

    static func misconfigured(_ fault: Misconfiguration) -> Verdict {
        .failure(.misconfigured(fault))
    }

    /// `invalid` if others were accepted.
    static func invalid(or fault: Misconfiguration) -> Verdict {
        .ambiguous(then: .invalid, or: fault)
    }

    /// The same, when nothing is deleted either way.
    static func refused(or fault: Misconfiguration) -> Verdict {
        .ambiguous(then: .retry(.unknownRefusal), or: fault)
    }
}
