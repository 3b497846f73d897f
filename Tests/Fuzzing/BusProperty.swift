import TestSupport
import WakeSystem
import WakeUnifiedPush

/// The reader of bus messages: the same whatever the cuts, bounded, and the inverse of the writer.
enum BusProperty {
    /// - Parameter input: a byte that says how the rest is cut, and what the bus writes.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        guard let cuts = input.first else { return false }
        let stream = Array(input.dropFirst())
        let whole = read(stream, cuts: nil)
        let cut = read(stream, cuts: UInt64(cuts))
        try require(whole.problem == cut.problem, "the end depends on cuts")
        try require(whole.readings.count == cut.readings.count, "messages depend on cuts")
        for (one, other) in zip(whole.readings, cut.readings) {
            try require(canonical(one) == canonical(other), "a message depends on cuts")
        }
        for case .message(let message, let bytes) in whole.readings {
            try require(bytes <= stream.count, "a message longer than what there was")
            try checkRoundTrip(message)
        }
        return !whole.readings.isEmpty
    }

    private static func read(
        _ stream: [UInt8], cuts: UInt64?
    ) -> (readings: [BusMessageReader.Reading], problem: BusError?) {
        var reader = BusMessageReader()
        var readings: [BusMessageReader.Reading] = []
        var random = cuts.map { SplitMix64(seed: $0) }
        var position = 0
        while position < stream.count {
            var count = stream.count - position
            if random != nil { count = Int((random?.next() ?? 0) % UInt64(min(count, 60))) + 1 }
            reader.feed(Array(stream[position..<(position + count)]))
            position += count
            do throws(BusError) {
                while let reading = try reader.next() { readings.append(reading) }
            } catch {
                return (readings, error)
            }
        }
        return (readings, nil)
    }

    /// What can be compared: values may be no numbers, which equal nothing.
    private static func canonical(_ reading: BusMessageReader.Reading) -> [UInt8]? {
        switch reading {
        case .message(let message, _): encoded(message, .little)
        case .tooLarge(let message): message.flatMap { encoded($0, .little) } ?? [0]
        }
    }

    private static func encoded(_ message: BusMessage, _ order: BusByteOrder) -> [UInt8]? {
        do throws(BusError) {
            return try message.encoded(serial: message.serial, order: order)
        } catch {
            return nil
        }
    }

    /// What was read can be written, and is read as the same again.
    private static func checkRoundTrip(_ message: BusMessage) throws(Violation) {
        for order in [BusByteOrder.little, .big] {
            guard let bytes = encoded(message, order) else {
                throw Violation("what was read cannot be written")
            }
            do throws(BusError) {
                let again = try BusMessage.decoded(bytes)
                try requireSame(again.flatMap { encoded($0, order) } == bytes)
            } catch {
                throw Violation("what was written is not what is read")
            }
        }
    }

    private static func requireSame(_ isSame: Bool) throws(BusError) {
        if !isSame { throw .unexpectedAnswer }
    }
}
