package import WakeModel

extension BroadcastPlan {
    /// For people, before anything is sent: at most 80 columns wide.
    package var lines: [String] {
        let budget = demand.fetchesPerSecond
        var rows: [(String, String, String)] = [
            ("registrations", FigureText.grouped(demand.rows), "estimate"),
            ("pushes", FigureText.grouped(pushes), "\(rateText(rate)) a second"),
            ("event streams", FigureText.grouped(demand.streams), "woken at once"),
            ("pushes leave in", FigureText.clock(duration), boundText),
            ("clients spread over", FigureText.clock(spread), "of the head they have"),
            (
                "takes in all", FigureText.clock(totalSeconds),
                "of an interval of \(FigureText.clock(demand.intervalSeconds))"
            ),
            ("fetches, mean", rateText(meanFetches), "a second"),
            (
                "fetches, peak", rateText(peakFetches),
                budget > 0
                    ? "a second, budget \(FigureText.grouped(budget))" : "a second, no budget"
            ),
        ]
        if publishedSpread != spread {
            rows.append(("spread to publish", FigureText.clock(publishedSpread), "in the head"))
        }
        let table = rows.map { name, value, note in
            let padding = String(repeating: " ", count: max(1, 21 - name.count))
            return name + padding + FigureText.padded(value, to: 14) + "  " + note
        }
        return table + warnings.map { "warning: " + text($0) }
    }

    /// For scripts: one object. Rates are numbers with two decimals.
    package var json: [UInt8] {
        var text = JSONText(capacity: 1024)
        text.beginObject()
        addMembers(to: &text)
        text.endObject()
        return text.bytes
    }

    /// The members of the object above.
    package func addMembers(to text: inout JSONText) {
        text.member("rows", number: demand.rows)
        text.member("pushes", number: pushes)
        text.member("streams", number: demand.streams)
        text.member("durationSeconds", number: duration)
        text.member("spreadSeconds", number: spread)
        text.member("totalSeconds", number: totalSeconds)
        text.member("intervalSeconds", number: demand.intervalSeconds)
        text.member("pushesPerSecond", raw: FigureText.fixed(rate, decimals: 2))
        text.member("meanFetchesPerSecond", raw: FigureText.fixed(meanFetches, decimals: 2))
        text.member("peakFetchesPerSecond", raw: FigureText.fixed(peakFetches, decimals: 2))
        text.member("budgetFetchesPerSecond", number: demand.fetchesPerSecond)
        text.member("publishedSpreadSeconds", number: publishedSpread)
        text.beginObject("warnings")
        for warning in warnings {
            switch warning {
            case .nearlyFull(let percent): text.member("nearlyFullPercent", number: percent)
            case .uneven(let hundredths): text.member("unevenHundredths", number: hundredths)
            case .streams(let perSecond):
                text.member("streamFetchesPerSecond", number: perSecond)
            case .noGateway: text.member("noGateway", bool: true)
            }
        }
        text.endObject()
    }

    private func text(_ warning: Warning) -> String {
        switch warning {
        case .nearlyFull(let percent):
            "this is \(percent) % of the interval: there is little room to grow"
        case .uneven(let hundredths):
            "the peak is \(FigureText.fixed(Double(hundredths) / 100, decimals: 2)) times the mean:"
                + " publish a spread of \(publishedSpread) s"
        case .streams(let perSecond):
            "event streams alone bring \(FigureText.grouped(perSecond)) fetches a second:"
                + " publish a spread of \(publishedSpread) s"
        case .noGateway:
            "no gateway works: only event streams are woken"
        }
    }

    private var boundText: String {
        guard let slowest = demand.slowest, pushes > 0 else { return "nothing to push" }
        let byGateway = slowest.seconds(for: Double(pushes))
        return Double(duration) > byGateway + 1
            ? "bound by the budget of fetches" : "bound by \(slowest.service.word)"
    }

    private func rateText(_ rate: Double) -> String {
        rate < 100
            ? FigureText.fixed(rate, decimals: 1) : FigureText.grouped(Int(rate.rounded()))
    }
}
