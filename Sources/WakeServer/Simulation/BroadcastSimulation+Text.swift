import WakeModel

extension BroadcastSimulation {
    /// Rows of the table at most.
    package static let tableRows = 24

    /// The load as a table: a title and at most `tableRows` lines, 72 columns wide.
    package var table: [String] {
        let title = row("seconds", "pushes/s", "fetches/s", "fullest second")
        return [title]
            + parts(Self.tableRows).map { part in
                row(
                    "\(part.from)-\(part.to - 1)", number(part.pushes), number(part.fetches),
                    FigureText.grouped(part.fullest))
            }
    }

    /// What it comes to: a few lines of at most 80 columns.
    package var summary: [String] {
        let mean = max(mean, .leastNormalMagnitude)
        var lines = [
            "\(FigureText.grouped(clients)) clients, \(FigureText.clock(seconds)) from the first"
                + " push to the last fetch",
            "mean \(number(self.mean)) fetches a second",
            "fullest second \(FigureText.grouped(fullestSecond)),"
                + " \(ratio(Double(fullestSecond) / mean)) times the mean",
        ]
        if plan.spanSeconds > 1, plan.spanSeconds < seconds {
            lines.append(
                "fullest \(plan.spanSeconds) seconds \(number(fullestSpan)) a second,"
                    + " \(ratio(fullestSpan / mean)) times the mean")
        }
        let budget = plan.demand.fetchesPerSecond
        if budget > 0 {
            let over = fetches.count { $0 > budget }
            lines.append(
                over == 0
                    ? "no second over the budget of \(FigureText.grouped(budget))"
                    : "\(FigureText.grouped(over)) seconds over the budget of"
                        + " \(FigureText.grouped(budget))")
        }
        return lines
    }

    /// One object: the plan, what the simulation found, and the rows of the table.
    package var json: [UInt8] {
        var text = JSONText(capacity: 4096)
        text.beginObject()
        text.beginObject("plan")
        plan.addMembers(to: &text)
        text.endObject()
        text.member("clients", number: clients)
        text.member("seconds", number: seconds)
        text.member("meanFetchesPerSecond", raw: FigureText.fixed(mean, decimals: 2))
        text.member("fullestSecond", number: fullestSecond)
        text.member("spanSeconds", number: min(plan.spanSeconds, seconds))
        text.member("fullestSpanPerSecond", raw: FigureText.fixed(fullestSpan, decimals: 2))
        let rows = parts(Self.tableRows).map { part in
            let pushes = FigureText.fixed(part.pushes, decimals: 2)
            let fetches = FigureText.fixed(part.fetches, decimals: 2)
            return "{\"from\":\(part.from),\"to\":\(part.to),\"pushesPerSecond\":\(pushes),"
                + "\"fetchesPerSecond\":\(fetches),\"fullestSecond\":\(part.fullest)}"
        }
        text.member("load", raw: "[" + rows.joined(separator: ",") + "]")
        text.endObject()
        return text.bytes
    }

    private func row(_ span: String, _ pushes: String, _ fetches: String, _ most: String) -> String
    {
        FigureText.padded(span, to: 15) + FigureText.padded(pushes, to: 18)
            + FigureText.padded(fetches, to: 18) + FigureText.padded(most, to: 18)
    }

    private func number(_ value: Double) -> String {
        value < 100
            ? FigureText.fixed(value, decimals: 1) : FigureText.grouped(Int(value.rounded()))
    }

    private func ratio(_ value: Double) -> String { FigureText.fixed(value, decimals: 2) }
}
