/// The meaning of every answer of a push service: the first row that fits holds.
package struct ResponseTable<Reason: Hashable & Sendable, Fault: Hashable & Sendable>: Sendable {
    /// The meaning of one row. Anybody may register a false push token; an answer that blames the
    /// token for a possible fault of the gateway is believed only when others were accepted.
    package enum Meaning: Sendable, Hashable {
        case accepted, gone
        case invalidIfOthersAccepted(else: Fault)
        /// Nothing is deleted either way.
        case refusedIfOthersAccepted(else: Fault)
        case retry(RetryCause)
        case misconfigured(Fault)
        /// Refused for an unknown reason, about one push token or every wake-up. Never `gone`.
        case unknown
    }

    package struct Row: Sendable {
        package let status: ClosedRange<Int>
        /// nil: any reason, none, or one that is not known.
        package let reason: Reason?
        package let meaning: Meaning

        init(_ status: Int, _ reason: Reason? = nil, _ meaning: Meaning) {
            self.init(status...status, reason, meaning)
        }

        init(_ status: ClosedRange<Int>, _ reason: Reason? = nil, _ meaning: Meaning) {
            self.status = status
            self.reason = reason
            self.meaning = meaning
        }
    }

    /// The last one fits everything.
    package let rows: [Row]
    private let misconfiguration: @Sendable (Fault) -> Misconfiguration
    private let unknown: @Sendable (_ status: Int) -> Fault

    /// - Parameter unknown: the fault when answers have no known reason and nothing is accepted.
    init(
        _ rows: [Row], misconfiguration: @escaping @Sendable (Fault) -> Misconfiguration,
        unknown: @escaping @Sendable (_ status: Int) -> Fault
    ) {
        self.rows = rows
        self.misconfiguration = misconfiguration
        self.unknown = unknown
    }

    /// - Parameters:
    ///   - body: of the answer; the push services answer in JSON, proxies and firewalls with pages.
    ///   - stranger: the fault when such a page forbids the request.
    func verdict(
        status: Int, reason: Reason?, body: Span<UInt8>, stranger: Fault
    ) -> Verdict {
        var isPage = false
        for index in body.indices where ![9, 10, 13, 32].contains(body[index]) {
            isPage = body[index] == UInt8(ascii: "<")
            break
        }
        return status == 403 && isPage
            ? .failure(.misconfigured(misconfiguration(stranger)))
            : verdict(status: status, reason: reason)
    }

    func verdict(status: Int, reason: Reason?) -> Verdict {
        let row = rows.first { row in
            row.status.contains(status) && (row.reason == nil || row.reason == reason)
        }
        switch row?.meaning ?? .unknown {
        case .accepted: return .delivery(.accepted)
        case .gone: return .delivery(.gone)
        case .invalidIfOthersAccepted(let fault):
            return .ambiguous(then: .invalid, or: misconfiguration(fault))
        case .refusedIfOthersAccepted(let fault):
            return .ambiguous(then: .retry(.unknownRefusal), or: misconfiguration(fault))
        case .retry(let cause): return .delivery(.retry(cause))
        case .misconfigured(let fault): return .failure(.misconfigured(misconfiguration(fault)))
        case .unknown:
            return .ambiguous(then: .retry(.unknownRefusal), or: misconfiguration(unknown(status)))
        }
    }
}
