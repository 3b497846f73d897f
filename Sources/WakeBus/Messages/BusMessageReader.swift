/// Messages out of a stream of bytes, however it is cut.
package struct BusMessageReader {
    package enum Reading: Equatable {
        /// With its length on the wire.
        case message(BusMessage, bytes: Int)
        /// One that is beyond `BusLimits`, without its body: nothing of that is kept. Nil when the
        /// header was too large already.
        case tooLarge(BusMessage?)
    }

    private var buffer: [UInt8] = []
    private var start = 0
    /// Bytes of a message that is too large which are still to come.
    private var skipping = 0

    package init() {}

    package mutating func feed(_ bytes: [UInt8]) {
        let skipped = min(skipping, bytes.count)
        skipping -= skipped
        buffer += bytes[skipped...]
    }

    /// The next message; nil when more bytes are needed.
    ///
    /// - Throws: `.malformed`. What comes afterwards is no stream of messages.
    package mutating func next() throws(BusError) -> Reading? {
        while buffer.count - start >= BusPreamble.bytes {
            let preamble = try BusPreamble(buffer, at: start)
            if preamble.fieldBytes > BusLimits.headerBytes {
                skip(preamble.messageBytes)
                if preamble.kind != nil { return .tooLarge(nil) }
                continue
            }
            if preamble.messageBytes > BusLimits.messageBytes {
                guard buffer.count - start >= preamble.headBytes else { return nil }
                let head = Array(buffer[start..<(start + preamble.headBytes)])
                skip(preamble.messageBytes)
                guard let kind = preamble.kind else { continue }
                return .tooLarge(try Self.head(preamble, kind, head))
            }
            guard buffer.count - start >= preamble.messageBytes else { return nil }
            let bytes = Array(buffer[start..<(start + preamble.messageBytes)])
            skip(preamble.messageBytes)
            if let reading = try Self.reading(bytes, preamble) { return reading }
        }
        return nil
    }

    private static func reading(
        _ bytes: [UInt8], _ preamble: BusPreamble
    ) throws(BusError) -> Reading? {
        do throws(BusError) {
            return try BusMessage.decoded(bytes).map { .message($0, bytes: bytes.count) }
        } catch .tooLarge {
            guard let kind = preamble.kind else { return nil }
            return .tooLarge(try head(preamble, kind, bytes))
        }
    }

    /// Nil when the header alone holds too many values.
    private static func head(
        _ preamble: BusPreamble, _ kind: BusMessage.Kind, _ bytes: [UInt8]
    ) throws(BusError) -> BusMessage? {
        do throws(BusError) {
            return try BusHeader(preamble, kind, bytes).message
        } catch .tooLarge {
            return nil
        }
    }

    /// Drops so many bytes from the front, of which some may not have come yet.
    private mutating func skip(_ count: Int) {
        let there = min(count, buffer.count - start)
        skipping = count - there
        start += there
        if start == buffer.count {
            buffer = []
            start = 0
        } else if start > BusLimits.headerBytes {
            buffer.removeFirst(start)
            start = 0
        }
    }
}
