/// Whether a connection has shown, in this round, that the gateway works: only then is an answer
/// believed that blames one push token for what a wrong configuration would cause as well.
///
/// Such answers are held until the connection accepts a wake-up; it may be the very first of a
/// round that is refused. When too many are held, or the round ends and nothing was accepted, the
/// gateway is at fault.
package struct ConnectionEvidence<Item: Sendable>: Sendable {
    package typealias Settled = (item: Item, delivery: Delivery)

    /// Answers held at most: more than so many refusals in a row are no coincidence.
    private let limit: Int
    private var hasAccepted = false
    private var held: [(item: Item, then: Delivery, or: Misconfiguration)] = []

    package init(limit: Int = 64) {
        precondition(limit > 0)
        self.limit = limit
    }

    /// Nothing is held.
    package var isEmpty: Bool { held.isEmpty }

    /// The connection has accepted a wake-up: what was held is believed.
    package mutating func accepted() -> [Settled] {
        hasAccepted = true
        guard !held.isEmpty else { return [] }
        defer { held = [] }
        return held.map { ($0.item, $0.then) }
    }

    /// What an answer means for its wake-up now; nil while that is not known.
    package mutating func judge(
        _ verdict: Verdict, of item: Item
    ) throws(GatewayFailure) -> Delivery? {
        switch verdict {
        case .delivery(let delivery): return delivery
        case .failure(let failure): throw failure
        case .unproven(let then, let or):
            if hasAccepted { return then }
            held.append((item, then, or))
            guard held.count < limit else { throw .misconfigured(or) }
            return nil
        }
    }

    /// The connection is lost before it has shown anything: what is held is tried again.
    package mutating func lost() -> [Settled] {
        defer { self = Self(limit: limit) }
        return held.map { ($0.item, .retry(.connectionFault)) }
    }

    /// Nothing more will come on this connection for now. What is held stays undecided: nothing is
    /// gone for it.
    /// - Returns: also what is at fault if no other connection accepts anything either.
    package mutating func giveUp() -> (settled: [Settled], suspicion: Misconfiguration?) {
        defer { held = [] }
        return (held.map { ($0.item, .retry(.unknownRefusal)) }, held.first?.or)
    }
}
