import WakeModel

/// The members of one line of a relay's answer.
struct RelayLineMembers {
    private var wake: Int?
    private var done: Int?
    private var delivery: [UInt8]?
    private var cause: [UInt8]?
    private var service: [UInt8]?
    private var stopped: [UInt8]?
    private var count = 0

    mutating func read(_ scanner: inout JSONScanner) throws(JSONError) {
        try scanner.object { (scanner, name) throws(JSONError) in
            count += 1
            if name.span.equals("wake") {
                wake = try scanner.integer()
            } else if name.span.equals("done") {
                done = try scanner.integer()
            } else if name.span.equals("delivery") {
                delivery = try scanner.string()
            } else if name.span.equals("cause") {
                cause = try scanner.string()
            } else if name.span.equals("service") {
                service = try scanner.string()
            } else if name.span.equals("stopped") {
                stopped = try scanner.string()
            } else {
                throw .unknownMember
            }
        }
    }

    /// nil unless these are exactly the members of one kind of line.
    var line: RelayLine? {
        if let done { return count == 1 && done >= 0 ? .done(done) : nil }
        if let wake, let delivery {
            guard wake >= 0, let delivery = parsed(delivery) else { return nil }
            return .delivery(wake: wake, delivery)
        }
        if let service, let stopped, let cause {
            guard count == 3, let service = PushService(word: service.span),
                let stop = Self.stop(stopped, cause)
            else { return nil }
            return .stopped(service, stop)
        }
        return nil
    }

    private func parsed(_ word: [UInt8]) -> Delivery? {
        if word.span.equals("accepted") { return count == 2 ? .accepted : nil }
        if word.span.equals("gone") { return count == 2 ? .gone : nil }
        guard word.span.equals("retry"), let cause, count == 3 else { return nil }
        let known = RetryCause.allCases.first { cause.span.equals($0.word) }
        return .retry(known ?? .unknownRefusal)
    }

    private static func stop(_ word: [UInt8], _ cause: [UInt8]) -> RelayStop? {
        if word.span.equals("unavailable") { return .unavailable }
        guard word.span.equals("misconfigured") else { return nil }
        return cause.span.equals("service-off") ? .serviceOff : .misconfigured
    }
}
