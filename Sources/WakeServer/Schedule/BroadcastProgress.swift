package import WakeModel

/// Where a broadcast stands, for the terminal, `reveille status` and scripts. Counts only.
package struct BroadcastProgress: Sendable, Equatable {
    /// Of the space of ids, 0 to 1: ids are uniform, so this is the share of the rows.
    package let fraction: Double
    package let counters: RoundCounters
    /// Pushes a second; nil while too little is known.
    package let rate: Double?
    /// Seconds to the end; nil while too little is known.
    package let secondsLeft: Int?

    /// - Parameters:
    ///   - fraction: see `RoundBuckets.progress`.
    ///   - seconds: since this run of the program took up the round.
    ///   - since: progress and counters at that moment; zero for a round that was not resumed.
    package init(
        fraction: Double, counters: RoundCounters, seconds: Double,
        since: (fraction: Double, counters: RoundCounters) = (0, RoundCounters())
    ) {
        self.fraction = fraction.isFinite ? min(1, max(0, fraction)) : 0
        self.counters = counters
        guard seconds >= 1 else {
            rate = nil
            secondsLeft = fraction >= 1 ? 0 : nil
            return
        }
        let sent = counters.sent &- min(since.counters.sent, counters.sent)
        rate = Double(sent) / seconds
        let gained = self.fraction - since.fraction
        if self.fraction >= 1 {
            secondsLeft = 0
        } else if gained > 0 {
            // A year at most: the first bucket of a slow round says little.
            let left = (1 - self.fraction) / gained * seconds
            secondsLeft = Int(min(left, 365 * 86_400).rounded())
        } else {
            secondsLeft = nil
        }
    }

    /// One line of at most 100 columns, whatever the numbers:
    /// ` 42.3 %  12.3k/s  0:08:12 left  accepted 4.23M  gone 123  retried 1.2k  failed 3  braked`
    package var line: String {
        // Not 100.0 before the end.
        let tenths = fraction >= 1 ? 1000 : min(999, Int(fraction * 1000))
        var parts = [FigureText.padded("\(tenths / 10).\(tenths % 10) %", to: 7)]
        parts.append(rate.map { FigureText.short(UInt64(min($0, 1e15))) + "/s" } ?? "-/s")
        parts.append((secondsLeft.map(FigureText.clock) ?? "-") + " left")
        parts.append("accepted \(FigureText.short(counters.accepted))")
        parts.append("gone \(FigureText.short(counters.gone))")
        parts.append("retried \(FigureText.short(counters.retried))")
        parts.append("failed \(FigureText.short(failed))")
        if counters.braked != 0 { parts.append("braked") }
        return parts.joined(separator: "  ")
    }

    /// Wake-ups that nobody got: given up, or without a working gateway.
    private var failed: UInt64 {
        let (sum, overflow) = counters.abandoned.addingReportingOverflow(counters.unsent)
        return overflow ? .max : sum
    }

    /// The members of an object for scripts; what is not known is null.
    package func addMembers(to text: inout JSONText) {
        text.member("progress", raw: FigureText.fixed(min(fraction, 1), decimals: 3))
        text.member(
            "pushesPerSecond", raw: rate.map { FigureText.fixed($0, decimals: 1) } ?? "null")
        text.member("secondsLeft", raw: secondsLeft.map(String.init) ?? "null")
        text.member("rows", number: counters.rows)
        text.member("sent", number: counters.sent)
        text.member("accepted", number: counters.accepted)
        text.member("gone", number: counters.gone)
        text.member("deleted", number: counters.deleted)
        text.member("retried", number: counters.retried)
        text.member("abandoned", number: counters.abandoned)
        text.member("unsent", number: counters.unsent)
        text.member("unserved", number: counters.unserved)
        text.member("duplicates", number: counters.duplicates)
        text.member("streams", number: counters.streams)
        text.member("braked", bool: counters.braked != 0)
    }
}
