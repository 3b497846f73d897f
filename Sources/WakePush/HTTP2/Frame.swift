import WakeSystem

/// One frame (RFC 9113 §6). Ranges are positions in the bytes read, without padding and priority.
package enum Frame: Equatable, Sendable {
    /// `flow` is what counts against both windows: the payload with its padding.
    case data(stream: UInt32, body: Range<Int>, flow: Int, ends: Bool)
    case headers(stream: UInt32, fragment: Range<Int>, isWhole: Bool, ends: Bool)
    case priority(stream: UInt32)
    case reset(stream: UInt32, code: UInt32)
    /// Whole entries of 6 bytes.
    case settings(Range<Int>)
    case settingsAcknowledged
    case pushPromise(stream: UInt32)
    case ping(UInt64)
    case pingAcknowledged(UInt64)
    case goAway(lastStream: UInt32, code: UInt32, debug: Range<Int>)
    /// `increment` 0 is an error of the stream or the connection (§6.9).
    case windowUpdate(stream: UInt32, increment: UInt32)
    case continuation(stream: UInt32, fragment: Range<Int>, isWhole: Bool)
    /// Of an unknown kind: to be ignored (§4.1).
    case unknown
}

/// The fault of bytes that are no proper frame.
package enum FrameError: Error, Equatable, Sendable {
    /// Longer than allowed, or wrong for its kind.
    case badLength
    /// Stream 0 or another, against its kind.
    case badStream
    case badPadding
}

package enum FrameRead: Equatable, Sendable {
    case complete(Frame, end: Int)
    case needMore
    case invalid(FrameError)
}

/// Kinds on the wire (RFC 9113 §6).
enum FrameKind: UInt8 {
    case data, headers, priority, reset, settings, pushPromise, ping, goAway, windowUpdate
    case continuation
}

/// Flags on the wire; their meaning depends on the kind.
enum FrameFlag {
    static let acknowledged: UInt8 = 0x1
    static let endStream: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    static let padded: UInt8 = 0x8
    static let priority: UInt8 = 0x20
}

/// The error codes of RFC 9113 §7 that matter here.
enum ErrorCode {
    static let none: UInt32 = 0x0
    static let protocolError: UInt32 = 0x1
    static let internalError: UInt32 = 0x2
    static let flowControl: UInt32 = 0x3
    static let frameSize: UInt32 = 0x6
    static let refusedStream: UInt32 = 0x7
    static let cancel: UInt32 = 0x8
    static let compression: UInt32 = 0x9
    static let enhanceYourCalm: UInt32 = 0xb
}

package enum FrameReader {
    package static let headBytes = 9

    /// The frame at `start`. One longer than `limit`, our SETTINGS_MAX_FRAME_SIZE, is refused by
    /// its head alone.
    package static func read(
        _ bytes: Span<UInt8>, at start: Int, limit: Int = 16_384
    ) -> FrameRead {
        guard bytes.count - start >= headBytes else { return .needMore }
        let length = Int(bytes.bigEndian(at: start, as: UInt32.self) >> 8)
        guard length <= limit else { return .invalid(.badLength) }
        let head = Head(
            kind: FrameKind(rawValue: bytes[start + 3]), flags: bytes[start + 4],
            stream: bytes.bigEndian(at: start + 5, as: UInt32.self) & 0x7fff_ffff)
        if let error = check(head, length) { return .invalid(error) }
        guard bytes.count - start - headBytes >= length else { return .needMore }
        let payload = start + headBytes..<start + headBytes + length
        guard let frame = parse(head, bytes, payload) else { return .invalid(.badPadding) }
        return .complete(frame, end: payload.upperBound)
    }

    private struct Head {
        let kind: FrameKind?
        let flags: UInt8
        let stream: UInt32

        func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
    }

    private static func check(_ head: Head, _ length: Int) -> FrameError? {
        let onStream: Bool
        let isSized: Bool
        switch head.kind {
        case .data, .headers, .continuation, .pushPromise: (onStream, isSized) = (true, true)
        case .priority: (onStream, isSized) = (true, length == 5)
        case .reset: (onStream, isSized) = (true, length == 4)
        case .settings:
            let isAcknowledgement = head.has(FrameFlag.acknowledged)
            (onStream, isSized) = (false, isAcknowledgement ? length == 0 : length % 6 == 0)
        case .ping: (onStream, isSized) = (false, length == 8)
        case .goAway: (onStream, isSized) = (false, length >= 8)
        case .windowUpdate: return length == 4 ? nil : .badLength
        default: return nil
        }
        if !isSized { return .badLength }
        return onStream == (head.stream != 0) ? nil : .badStream
    }

    private static func parse(_ head: Head, _ bytes: Span<UInt8>, _ payload: Range<Int>) -> Frame? {
        let start = payload.lowerBound
        let stream = head.stream
        switch head.kind {
        case .data:
            guard let body = unpadded(head, bytes, payload, fields: 0) else { return nil }
            return .data(
                stream: stream, body: body, flow: payload.count,
                ends: head.has(FrameFlag.endStream))
        case .headers:
            let fields = head.has(FrameFlag.priority) ? 5 : 0
            guard let fragment = unpadded(head, bytes, payload, fields: fields) else { return nil }
            return .headers(
                stream: stream, fragment: fragment, isWhole: head.has(FrameFlag.endHeaders),
                ends: head.has(FrameFlag.endStream))
        case .priority: return .priority(stream: stream)
        case .reset: return .reset(stream: stream, code: bytes.bigEndian(at: start))
        case .settings:
            return head.has(FrameFlag.acknowledged) ? .settingsAcknowledged : .settings(payload)
        case .pushPromise: return .pushPromise(stream: stream)
        case .ping:
            let opaque: UInt64 = bytes.bigEndian(at: start)
            return head.has(FrameFlag.acknowledged) ? .pingAcknowledged(opaque) : .ping(opaque)
        case .goAway:
            let last: UInt32 = bytes.bigEndian(at: start)
            return .goAway(
                lastStream: last & 0x7fff_ffff, code: bytes.bigEndian(at: start + 4),
                debug: start + 8..<payload.upperBound)
        case .windowUpdate:
            let increment: UInt32 = bytes.bigEndian(at: start)
            return .windowUpdate(stream: stream, increment: increment & 0x7fff_ffff)
        case .continuation:
            return .continuation(
                stream: stream, fragment: payload, isWhole: head.has(FrameFlag.endHeaders))
        default: return .unknown
        }
    }

    /// RFC 9113 §6.1, §6.2: pad length, `fields` bytes of priority in front, padding behind.
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
