/// The lines of a response.
struct RelayLines {
    private let options: RelayOptions

    init(_ options: RelayOptions) { self.options = options }

    struct Made {
        var lines: [String] = []
        /// Push tokens that were accepted.
        var accepted: [String] = []
    }

    func make(_ wakes: [RelayBatchCheck.Wake]) -> Made {
        var made = Made()
        var stopped: Set<String> = []
        for (position, wake) in wakes.enumerated() {
            if let stop = options.stops.first(where: { $0.service == wake.service }) {
                guard stopped.insert(wake.service).inserted else { continue }
                made.lines.append(
                    "{\"service\":\"\(stop.service)\",\"stopped\":\"\(stop.word)\","
                        + "\"cause\":\"\(stop.cause)\"}\n")
                continue
            }
            let isGone = options.gone.contains { wake.token.hasPrefix($0) }
            if !isGone { made.accepted.append(wake.token) }
            let delivery = isGone ? "gone" : "accepted"
            made.lines.append("{\"wake\":\(position),\"delivery\":\"\(delivery)\"}\n")
        }
        if options.manglings.contains(.reversed) { made.lines.reverse() }
        if !options.manglings.contains(.withoutDone) {
            made.lines.append("{\"done\":\(wakes.count)}\n")
        }
        return made
    }

    /// - Parameter isCut: whether the response breaks off.
    func answer(_ lines: [String], isCut: Bool) -> HTTPAnswer {
        var answer = HTTPAnswer(200, [("content-type", "application/jsonl")])
        answer.isStreamed = true
        var lines = lines
        if isCut, let cut = options.cutAfter {
            lines = Array(lines.prefix(cut))
            answer.end = .cut
        }
        if options.manglings.contains(.split) {
            // No part ends where a line does.
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
