/// The lines of an answer, and what becomes of them on the way.
struct RelayLines {
    private let options: RelayOptions

    init(_ options: RelayOptions) { self.options = options }

    struct Made {
        var lines: [String]
        /// Push tokens that were accepted.
        var accepted: [String]
        var gone = 0
        var retried = 0
        /// Wake-ups without a line.
        var silent = 0
    }

    /// - Parameter number: wake-ups before these.
    func make(_ wakes: [RelayBatchCheck.Wake], after number: Int) -> Made {
        var made = Made(lines: [], accepted: [])
        var left: [String: Int] = [:]
        for stop in options.stops { left[stop.service] = options.stopAfter }
        var stopped: Set<String> = []
        for (place, wake) in wakes.enumerated() {
            if let rest = left[wake.service] {
                if rest == 0 {
                    stop(wake.service, &stopped, &made)
                    made.silent += 1
                    continue
                }
                left[wake.service] = rest - 1
            }
            let delivery = delivery(wake, number + place + 1)
            switch delivery?.word {
            case "gone": made.gone += 1
            case "retry": made.retried += 1
            default: made.accepted.append(wake.token)
            }
            let cause = delivery?.cause.map { ",\"cause\":\"\($0)\"" } ?? ""
            made.lines.append(
                "{\"wake\":\(place),\"delivery\":\"\(delivery?.word ?? "accepted")\"\(cause)}\n")
        }
        finish(&made, wakes.count)
        return made
    }

    private func stop(_ service: String, _ stopped: inout Set<String>, _ made: inout Made) {
        guard stopped.insert(service).inserted,
            let stop = options.stops.first(where: { $0.service == service })
        else { return }
        made.lines.append(
            "{\"service\":\"\(service)\",\"stopped\":\"\(stop.word)\","
                + "\"cause\":\"\(stop.cause)\"}\n"
        )
    }

    private func delivery(
        _ wake: RelayBatchCheck.Wake, _ number: Int
    ) -> RelayOptions.Delivery? {
        options.tokenDeliveries.first { wake.token.hasPrefix($0.prefix) }?.delivery
            ?? options.deliveries.first { number.isMultiple(of: $0.every) }?.delivery
            ?? options.deliverAll
    }

    private func finish(_ made: inout Made, _ count: Int) {
        if options.manglings.contains(.reversed) { made.lines.reverse() }
        if options.manglings.contains(.duplicate) {
            made.lines = made.lines.flatMap { [$0, $0] }
        }
        if options.manglings.contains(.foreign) {
            made.lines.append("{\"wake\":\(count),\"delivery\":\"gone\"}\n")
        }
        if options.manglings.contains(.unknown) {
            made.lines.append("{\"wake\":0,\"delivery\":\"perhaps\"}\n")
        }
        if options.manglings.contains(.long) {
            made.lines.append(String(repeating: "x", count: 1 << 20))
        }
        if options.manglings.contains(.withoutDone) { return }
        let told = options.manglings.contains(.wrongDone) ? count + 1 : count
        made.lines.append("{\"done\":\(told)}\n")
    }

    /// - Parameter isCut: whether the answer breaks off where it is told to.
    func answer(_ lines: [String], isCut: Bool) -> HTTPAnswer {
        var answer = HTTPAnswer(200, [("content-type", "application/jsonl")])
        answer.isStreamed = true
        var lines = lines
        if isCut, let cut = options.cutAfter {
            lines = Array(lines.prefix(cut))
            answer.end = .cut
        }
        if options.manglings.contains(.split) {
            // No piece ends where a line does.
            let text = Array(lines.joined().utf8)
            answer.parts = stride(from: 0, to: text.count, by: 7).map { start in
                HTTPAnswer.Part(bytes: Array(text[start..<min(start + 7, text.count)]))
            }
        } else if options.lineDelay > 0 {
            answer.parts = lines.map {
                HTTPAnswer.Part(after: options.lineDelay, bytes: Array($0.utf8))
            }
        } else {
            answer.parts = [HTTPAnswer.Part(bytes: Array(lines.joined().utf8))]
        }
        return answer
    }
}
