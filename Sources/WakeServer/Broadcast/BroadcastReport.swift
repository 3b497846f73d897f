package import WakeModel

/// What a round has done so far: for `GET /v1/broadcast`, the operator's terminal, and metrics.
package struct BroadcastReport: Sendable, Equatable {
    /// Counted from the start of the service.
    package var round = 0
    package var isRunning = true
    /// The feed's sequence when it began.
    package var sequence: UInt64 = 0
    /// How far the walk through the ids has come, in thousandths.
    package var permille = 0
    package var milliseconds = 0
    /// Registrations read.
    package var rows = 0
    /// Of those, with a push token that had its wake-up already.
    package var duplicates = 0
    /// Of a push service for which there is no gateway.
    package var unserved = 0
    package var accepted = 0
    package var gone = 0
    /// Of those, registrations that were deleted unless renewed meanwhile.
    package var deleted = 0
    /// Given up for this round after several attempts.
    package var retry = 0
    /// Not sent, or not known: their gateway stopped.
    package var unsent = 0
    /// The store could not be read: the round ended early.
    package var isCutShort = false
    /// Every registration had its turn.
    package var isComplete = false
    /// Push services whose "gone" is no longer believed in this round, by their word.
    package var braked: [String] = []
    /// Gateways that stopped, by the word of their push service, and what to do about it.
    package var stopped: [String: String] = [:]

    package init() {}

    /// Before the first round.
    static var none: BroadcastReport {
        var report = BroadcastReport()
        report.isRunning = false
        return report
    }

    private static var numbers: [(name: StaticString, any Numbers)] {
        [
            ("round", \.round), ("permille", \.permille), ("milliseconds", \.milliseconds),
            ("rows", \.rows), ("duplicates", \.duplicates), ("unserved", \.unserved),
            ("accepted", \.accepted), ("gone", \.gone), ("deleted", \.deleted), ("retry", \.retry),
            ("unsent", \.unsent),
        ]
    }

    private typealias Numbers = WritableKeyPath<BroadcastReport, Int> & Sendable

    /// Adds what another round has done.
    mutating func add(_ other: BroadcastReport) {
        rows += other.rows
        duplicates += other.duplicates
        unserved += other.unserved
        accepted += other.accepted
        gone += other.gone
        deleted += other.deleted
        retry += other.retry
        unsent += other.unsent
    }

    func encode() -> [UInt8] {
        var text = JSONText(capacity: 512)
        text.beginObject()
        text.member("running", bool: isRunning)
        text.member("sequence", number: sequence)
        for (name, place) in Self.numbers { text.member(name, number: self[keyPath: place]) }
        text.member("cut_short", bool: isCutShort)
        text.member("complete", bool: isComplete)
        text.beginObject("braked")
        for service in PushService.allCases
        where braked.contains(String(describing: service.word)) {
            text.member(service.word, bool: true)
        }
        text.endObject()
        text.beginObject("stopped")
        for service in PushService.allCases {
            guard let message = stopped[String(describing: service.word)] else { continue }
            text.member(service.word, string: message)
        }
        text.endObject()
        text.endObject()
        return text.bytes
    }

    package init(decoding bytes: [UInt8]) throws(JSONError) {
        var report = BroadcastReport()
        var scanner = try JSONScanner(bytes)
        try scanner.document { (scanner) throws(JSONError) in
            try scanner.object { (scanner, name) throws(JSONError) in
                try report.read(name.span, from: &scanner)
            }
        }
        self = report
    }

    private mutating func read(
        _ name: Span<UInt8>, from scanner: inout JSONScanner
    ) throws(JSONError) {
        if name.equals("running") {
            isRunning = try scanner.bool()
        } else if name.equals("sequence") {
            sequence = UInt64(max(0, try scanner.integer()))
        } else if name.equals("cut_short") {
            isCutShort = try scanner.bool()
        } else if name.equals("complete") {
            isComplete = try scanner.bool()
        } else if name.equals("braked") {
            var words: [String] = []
            try scanner.object { (scanner, name) throws(JSONError) in
                if try scanner.bool() { words.append(String(decoding: name, as: UTF8.self)) }
            }
            braked = words
        } else if name.equals("stopped") {
            var messages: [String: String] = [:]
            try scanner.object { (scanner, name) throws(JSONError) in
                let message = try scanner.string()
                messages[String(decoding: name, as: UTF8.self)] =
                    String(decoding: message, as: UTF8.self)
            }
            stopped = messages
        } else {
            guard let place = Self.numbers.first(where: { name.equals($0.name) })?.1 else {
                throw .unknownMember
            }
            self[keyPath: place] = try scanner.integer()
        }
    }
}

extension RoundCounters {
    /// What of a report goes on after a restart.
    init(_ report: BroadcastReport) {
        self.init()
        sent = UInt64(report.accepted + report.gone + report.retry)
        accepted = UInt64(report.accepted)
        gone = UInt64(report.gone)
        deleted = UInt64(report.deleted)
        abandoned = UInt64(report.retry)
        skipped = UInt64(report.unserved + report.unsent)
        duplicates = UInt64(report.duplicates)
        milliseconds = UInt64(report.milliseconds)
    }
}
