/// Reads frames; remembers nothing.
package enum FrameReader {
    package static let headBytes = 9

    /// The frame that begins at `start`.
    /// - Parameter limit: our SETTINGS_MAX_FRAME_SIZE. A longer frame is refused by its head,
    ///   before a byte of it is waited for.
    package static func read(
        _ bytes: Span<UInt8>, at start: Int, limit: Int = 16_384
    ) -> FrameRead {
        guard bytes.count - start >= headBytes else { return .needMore }
        let length = Int(bytes.big32(at: start) >> 8)
        guard length <= limit else { return .invalid(.badLength) }
        let head = Head(
            kind: bytes[start + 3], flags: bytes[start + 4],
            stream: bytes.big32(at: start + 5) & 0x7fff_ffff)
        if let error = check(head, length) { return .invalid(error) }
        guard bytes.count - start - headBytes >= length else { return .needMore }
        let payload = start + headBytes..<start + headBytes + length
        return parse(head, bytes, payload)
    }

    private struct Head {
        var kind: UInt8
        var flags: UInt8
        var stream: UInt32

        func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
    }

    /// Length and stream that the kind demands.
    private static func check(_ head: Head, _ length: Int) -> FrameError? {
        let onStream: Bool
        let isSized: Bool
        switch head.kind {
        case FrameKind.data, FrameKind.headers, FrameKind.continuation, FrameKind.pushPromise:
            (onStream, isSized) = (true, true)
        case FrameKind.priority: (onStream, isSized) = (true, length == 5)
        case FrameKind.reset: (onStream, isSized) = (true, length == 4)
        case FrameKind.settings:
            let isAcknowledgement = head.has(FrameFlag.acknowledged)
            (onStream, isSized) = (false, isAcknowledgement ? length == 0 : length % 6 == 0)
        case FrameKind.ping: (onStream, isSized) = (false, length == 8)
        case FrameKind.goAway: (onStream, isSized) = (false, length >= 8)
        case FrameKind.windowUpdate: return length == 4 ? nil : .badLength
        default: return nil
        }
        if !isSized { return .badLength }
        return onStream == (head.stream != 0) ? nil : .badStream
    }

    private static func parse(
        _ head: Head, _ bytes: Span<UInt8>, _ payload: Range<Int>
    ) -> FrameRead {
        let start = payload.lowerBound
        let frame: Frame
        switch head.kind {
        case FrameKind.data:
            guard let body = unpadded(head, bytes, payload, fields: 0) else {
                return .invalid(.badPadding)
            }
            frame = .data(
                stream: head.stream, body: body, flow: payload.count,
                ends: head.has(FrameFlag.endStream))
        case FrameKind.headers:
            let fields = head.has(FrameFlag.priority) ? 5 : 0
            guard let fragment = unpadded(head, bytes, payload, fields: fields) else {
                return .invalid(.badPadding)
            }
            frame = .headers(
                stream: head.stream, fragment: fragment, isWhole: head.has(FrameFlag.endHeaders),
                ends: head.has(FrameFlag.endStream))
        case FrameKind.priority: frame = .priority(stream: head.stream)
        case FrameKind.reset:
            frame = .reset(stream: head.stream, code: bytes.big32(at: start))
        case FrameKind.settings:
            frame = head.has(FrameFlag.acknowledged) ? .settingsAcknowledged : .settings(payload)
        case FrameKind.pushPromise: frame = .pushPromise(stream: head.stream)
        case FrameKind.ping:
            let opaque =
                UInt64(bytes.big32(at: start)) << 32 | UInt64(bytes.big32(at: start + 4))
            frame = head.has(FrameFlag.acknowledged) ? .pingAcknowledged(opaque) : .ping(opaque)
        case FrameKind.goAway:
            frame = .goAway(
                lastStream: bytes.big32(at: start) & 0x7fff_ffff,
                code: bytes.big32(at: start + 4))
        case FrameKind.windowUpdate:
            frame = .windowUpdate(
                stream: head.stream, increment: bytes.big32(at: start) & 0x7fff_ffff)
        case FrameKind.continuation:
            frame = .continuation(
                stream: head.stream, fragment: payload, isWhole: head.has(FrameFlag.endHeaders))
        default: frame = .unknown
        }
        return .complete(frame, end: payload.upperBound)
    }

    /// RFC 9113 §6.1, §6.2: a byte of pad length in front, `fields` bytes of priority, the padding
    /// behind.
    private static func unpadded(
        _ head: Head, _ bytes: Span<UInt8>, _ payload: Range<Int>, fields: Int
    ) -> Range<Int>? {
        var start = payload.lowerBound
        var end = payload.upperBound
        if head.has(FrameFlag.padded) {
            guard !payload.isEmpty else { return nil }
            end -= Int(bytes[start])
            start += 1
        }
        start += fields
        return start <= end ? start..<end : nil
    }
}
