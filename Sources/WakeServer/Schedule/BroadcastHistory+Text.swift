import WakeModel
package import WakePush

/// The file is no history. Treat it as ``BroadcastHistory/unknown(_:resuming:)``.
package enum BroadcastHistoryError: Error, Sendable, Equatable {
    case damaged
}

extension BroadcastHistory {
    /// Bytes of a file at most.
    package static let byteLimit = 512

    /// Nine lines of numbers, in this order:
    ///
    /// ```
    /// broadcasts=2
    /// sequence=1842                              or none
    /// round=17
    /// seen=86400 1800000000 <32 hexadecimal digits>     uptime, seconds since 1970, boot id
    /// ends=71000 78300 85500                     uptime; none to three
    /// running=0
    /// stopped=0
    /// pending=0                                  sum of 1 heartbeat, 2 asked, 4 watched
    /// heartbeat=7200 90000 92400                 interval, due, end of the interval; or off
    /// ```
    package func encode() -> [UInt8] {
        let boot = String(decoding: Hex.encode(seen.boot.span), as: UTF8.self)
        let heartbeat = heartbeat.map { "\($0.interval) \($0.due) \($0.end)" } ?? "off"
        let lines = [
            "broadcasts=2",
            "sequence=\(sequence.map(String.init) ?? "none")",
            "round=\(round)",
            "seen=\(seen.uptime) \(seen.wall) \(boot)",
            "ends=\(ends.map(String.init).joined(separator: " "))",
            "running=\(isRunning ? 1 : 0)",
            "stopped=\(isStopped ? 1 : 0)",
            "pending=\(pending.rawValue)",
            "heartbeat=\(heartbeat)",
        ]
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// Reads what `encode` writes, or the one line `sequence=N` of the version before: that one
    /// sent no pushes, so there is nothing to count.
    /// - Parameters:
    ///   - now: what the old line is taken to be of.
    package init(decoding bytes: [UInt8], now: ClockReading) throws(BroadcastHistoryError) {
        guard bytes.count <= Self.byteLimit, bytes.last == UInt8(ascii: "\n") else {
            throw .damaged
        }
        let lines = bytes.dropLast().split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.count == 1 {
            self.init(now)
            var fields = HistoryFields(lines)
            sequence = try fields.unsigned("sequence")
            return
        }
        guard lines.count == 9 else { throw .damaged }
        var fields = HistoryFields(lines)
        guard try fields.unsigned("broadcasts") == 2 else { throw .damaged }
        let sequence = try fields.value("sequence")
        self.init(now)
        if !sequence.elementsEqual("none".utf8) {
            self.sequence = try HistoryFields.unsigned(sequence)
        }
        round = try fields.unsigned("round")
        seen = try fields.reading("seen")
        ends = try fields.numbers("ends")
        isRunning = try fields.flag("running")
        isStopped = try fields.flag("stopped")
        let pending = try fields.unsigned("pending")
        guard pending <= UInt64(BroadcastReasons.all.rawValue) else { throw .damaged }
        self.pending = BroadcastReasons(rawValue: UInt8(pending))
        heartbeat = try fields.heartbeat("heartbeat")
        try check()
    }

    /// Numbers that no schedule would have written would delay or hurry it.
    private func check() throws(BroadcastHistoryError) {
        guard ends.count <= 3, ends.allSatisfy({ $0 <= seen.uptime }), ends == ends.sorted(),
            !isRunning || !ends.isEmpty, seen.uptime >= 0
        else { throw .damaged }
        guard let heartbeat else { return }
        guard BroadcastSchedule.heartbeatSeconds.contains(heartbeat.interval),
            heartbeat.end - heartbeat.interval <= heartbeat.due, heartbeat.due < heartbeat.end,
            heartbeat.end <= seen.uptime + 2 * heartbeat.interval
        else { throw .damaged }
    }
}

/// The lines of a history, taken one after another.
private struct HistoryFields {
    private typealias Failure = BroadcastHistoryError
    private var lines: ArraySlice<ArraySlice<UInt8>>

    /// Far beyond any clock, far from overflow.
    private static let limit = 1 << 53

    init(_ lines: [ArraySlice<UInt8>]) {
        self.lines = lines[...]
    }

    mutating func value(_ name: String) throws(BroadcastHistoryError) -> ArraySlice<UInt8> {
        let prefix = Array((name + "=").utf8)
        guard let line = lines.popFirst(), line.starts(with: prefix) else { throw .damaged }
        return line.dropFirst(prefix.count)
    }

    mutating func unsigned(_ name: String) throws(BroadcastHistoryError) -> UInt64 {
        try Self.unsigned(try value(name))
    }

    mutating func flag(_ name: String) throws(BroadcastHistoryError) -> Bool {
        switch try unsigned(name) {
        case 0: false
        case 1: true
        default: throw .damaged
        }
    }

    mutating func numbers(_ name: String) throws(BroadcastHistoryError) -> [Int] {
        let value = try value(name)
        if value.isEmpty { return [] }
        return try Self.numbers(value.split(separator: 32, omittingEmptySubsequences: false))
    }

    mutating func reading(_ name: String) throws(BroadcastHistoryError) -> ClockReading {
        let parts = try value(name).split(separator: 32, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .damaged }
        let clocks = try Self.numbers(Array(parts.prefix(2)))
        let digits = Array(parts[2])
        guard digits.count == 32, let boot = Hex.decode(digits.span),
            Hex.encode(boot.span) == digits
        else { throw .damaged }
        return ClockReading(wall: clocks[1], uptime: clocks[0], boot: boot)
    }

    mutating func heartbeat(
        _ name: String
    ) throws(BroadcastHistoryError) -> BroadcastHistory.Heartbeat? {
        let value = try value(name)
        if value.elementsEqual("off".utf8) { return nil }
        let numbers = try Self.numbers(value.split(separator: 32, omittingEmptySubsequences: false))
        guard numbers.count == 3 else { throw .damaged }
        return BroadcastHistory.Heartbeat(interval: numbers[0], due: numbers[1], end: numbers[2])
    }

    private static func numbers(
        _ parts: [ArraySlice<UInt8>]
    ) throws(BroadcastHistoryError) -> [Int] {
        var numbers: [Int] = []
        for part in parts {
            let isNegative = part.first == UInt8(ascii: "-")
            let size = try unsigned(isNegative ? part.dropFirst() : part)
            guard size <= UInt64(limit), !(isNegative && size == 0) else { throw .damaged }
            numbers.append(isNegative ? -Int(size) : Int(size))
        }
        return numbers
    }

    /// Digits only, no leading zero: one spelling for each number.
    static func unsigned(_ digits: ArraySlice<UInt8>) throws(BroadcastHistoryError) -> UInt64 {
        guard let first = digits.first, digits.allSatisfy({ (48...57).contains($0) }),
            first != 48 || digits.count == 1,
            let number = UInt64(String(decoding: digits, as: UTF8.self))
        else { throw .damaged }
        return number
    }
}
