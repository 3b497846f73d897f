import WakeModel

/// What this service did since it was started, for everybody: in memory only, rounded, and without
/// anything that is about one person.
///
/// It changes when a broadcast has ended and at no other time, so two readings cannot be laid
/// around what one person does. A count that has not changed is told as before, for drawing again
/// and again would give it away.
struct PublicCounters: Sendable, Equatable {
    private struct Told: Equatable {
        /// Never leaves this value but through `count`.
        let exact: Int
        let count: RoundedCount
    }

    private var told: [Told?] = PublicCounter.allCases.map { _ in nil }

    /// nil: no broadcast has counted it yet.
    subscript(counter: PublicCounter) -> RoundedCount? { told[counter.rawValue]?.count }

    /// A broadcast has ended.
    mutating func take(_ counts: ExactCounts, using random: inout some RandomNumberGenerator) {
        for counter in PublicCounter.allCases {
            guard let exact = counts[counter], told[counter.rawValue]?.exact != exact else {
                continue
            }
            told[counter.rawValue] = Told(
                exact: exact, count: RoundedCount(exact, using: &random))
        }
    }

    /// One object; a count that is not told is null, one that was not taken yet is missing.
    func encode() -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        text.member("rounded_to", number: RoundedCount.step)
        text.member("null_under", number: RoundedCount.least)
        text.beginObject("last_broadcast")
        members { $0.isOfLastBroadcast }
        text.endObject()
        text.beginObject("since_start")
        members { !$0.isOfLastBroadcast }
        text.endObject()
        text.endObject()
        return text.bytes + [UInt8(ascii: "\n")]

        func members(_ isWanted: (PublicCounter) -> Bool) {
            for counter in PublicCounter.allCases where isWanted(counter) {
                guard let count = self[counter] else { continue }
                text.member(counter.name, raw: count.value.map(String.init) ?? "null")
            }
        }
    }
}
