/// One event of `GET /v1/wakes`: the newest feed sequence, as a hint only.
package struct WakeEvent: Sendable, Equatable {
    package let sequence: UInt64

    package init(sequence: UInt64) { self.sequence = sequence }

    /// The event in `text/event-stream` form (WHATWG HTML §9.2.5).
    package func encode() -> [UInt8] {
        let retry = "retry: \(Limits.streamRetryMilliseconds)\n"
        return Array("\(retry)id: \(sequence)\nevent: wake\ndata: \(sequence)\n\n".utf8)
    }
}

/// Reads `text/event-stream` as it arrives (WHATWG HTML §9.2.6). Only `wake` events with a decimal
/// number count; a line longer than `lineLimit` is a fault of the server.
package struct WakeEventReader {
    package enum Fault: Error { case lineTooLong }

    private static let lineLimit = 1024
    private var line: [UInt8] = []
    private var afterReturn = false
    private var isWake = false
    private var data: [UInt8]?
    /// Milliseconds the server asks a client to wait before it reconnects.
    package private(set) var retryMilliseconds: Int?

    package init() {}

    /// Reads the next bytes; returns the events that they complete, in order. A wake whose data is
    /// no number counts as sequence 0: it still wakes.
    package mutating func append(_ bytes: Span<UInt8>) throws(Fault) -> [WakeEvent] {
        var events: [WakeEvent] = []
        for index in bytes.indices {
            let byte = bytes[index]
            defer { afterReturn = byte == UInt8(ascii: "\r") }
            if byte == UInt8(ascii: "\n"), afterReturn { continue }
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
                if let event = endLine() { events.append(event) }
            } else {
                guard line.count < Self.lineLimit else { throw .lineTooLong }
                line.append(byte)
            }
        }
        return events
    }

    private mutating func endLine() -> WakeEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else { return endEvent() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
        var value = line.dropFirst(colon + 1)
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        let name = line[..<colon]
        if name.elementsEqual("event".utf8) {
            isWake = value.elementsEqual("wake".utf8)
        } else if name.elementsEqual("data".utf8) {
            data = Array(value)
        } else if name.elementsEqual("retry".utf8), let number = Self.decimal(value) {
            retryMilliseconds = Int(clamping: number)
        }
        return nil
    }

    private mutating func endEvent() -> WakeEvent? {
        defer {
            isWake = false
            data = nil
        }
        guard isWake, let data else { return nil }
        return WakeEvent(sequence: Self.decimal(data[...]) ?? 0)
    }

    private static func decimal(_ text: ArraySlice<UInt8>) -> UInt64? {
        guard (1...19).contains(text.count) else { return nil }
        var value: UInt64 = 0
        for byte in text {
            guard (0x30...0x39).contains(byte) else { return nil }
            value = value * 10 + UInt64(byte - 0x30)
        }
        return value
    }
}
