/// What every answer of a push service means, as a table: the one shape for all push services.
package struct AnswerTable<Reason: Hashable & Sendable, Fault: Hashable & Sendable>: Sendable {
    /// The meaning of one row. Some answers blame the push token when it may be right and the
    /// gateway wrong; and anybody may register a push token that is none, for which the gateway
    /// must not stop for all. Such answers are believed only when the same connection has accepted
    /// other wake-ups in this round; otherwise the gateway is at fault.
    package enum Meaning: Sendable, Hashable {
        case accepted
        case gone
        case goneIfOthersAccepted(else: Fault)
        /// Nothing is deleted either way.
        case refusedIfOthersAccepted(else: Fault)
        case retry(RetryCause)
        case misconfigured(Fault)
        /// Refused for a reason this program does not know: it may be about one push token, or
        /// about every wake-up. Never `gone`.
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

    /// The first that fits holds; the last fits everything.
    package let rows: [Row]
    private let misconfiguration: @Sendable (Fault) -> Misconfiguration
    private let unknown: @Sendable (_ status: Int) -> Fault

    /// - Parameters:
    ///   - misconfiguration: what a fault of this push service is among those of all.
    ///   - unknown: what an answer of no known reason is when nothing is accepted.
    init(
        _ rows: [Row], misconfiguration: @escaping @Sendable (Fault) -> Misconfiguration,
        unknown: @escaping @Sendable (_ status: Int) -> Fault
    ) {
        self.rows = rows
        self.misconfiguration = misconfiguration
        self.unknown = unknown
    }

    func verdict(status: Int, reason: Reason?) -> Verdict {
        let row = rows.first { row in
            row.status.contains(status) && (row.reason == nil || row.reason == reason)
        }
        switch row?.meaning ?? .unknown {
        case .accepted: return .delivery(.accepted)
        case .gone: return .delivery(.gone)
        case .goneIfOthersAccepted(let fault):
            return .unproven(then: .gone, or: misconfiguration(fault))
        case .refusedIfOthersAccepted(let fault):
            return .unproven(then: .retry(.unknownRefusal), or: misconfiguration(fault))
        case .retry(let cause): return .delivery(.retry(cause))
        case .misconfigured(let fault): return .failure(.misconfigured(misconfiguration(fault)))
        case .unknown:
            return .unproven(then: .retry(.unknownRefusal), or: misconfiguration(unknown(status)))
        }
    }
}
