import WakePush
import WakeSystem

/// The least a server of HTTP/2 can do: every finished request is answered `:status 200`, whatever
/// it says. No header is decoded.
struct PeerConnection {
    private static let prefaceBytes = 24
    private static let window = 1 << 24

    var output: [UInt8] = []
    private(set) var requests = 0
    private let latency: UInt64
    private var hasPreface = false
    private var consumed = 0
    /// Streams whose answer is due later, and when.
    private var waiting: [(due: UInt64, stream: UInt32)] = []
    private var first = 0

    /// - Parameter latency: microseconds from request to answer.
    init(streams: Int, latency: UInt64) {
        self.latency = latency
        FrameWriter.settings(
            [(0x3, UInt32(streams)), (0x4, UInt32(Self.window))], into: &output)
        FrameWriter.windowUpdate(stream: 0, increment: 1 << 30, into: &output)
    }

    var nextDue: UInt64? { first < waiting.count ? waiting[first].due : nil }

    /// - Returns: how many of `bytes` are done with; nil at the end of the connection.
    mutating func receive(_ bytes: Span<UInt8>, now: UInt64) -> Int? {
        var position = 0
        if !hasPreface {
            guard bytes.count >= Self.prefaceBytes else { return 0 }
            hasPreface = true
            position = Self.prefaceBytes
        }
        while bytes.count - position >= 9 {
            let length = Int(bytes.bigEndian(at: position, as: UInt32.self) >> 8)
            guard length <= 16_384 else { return nil }
            guard bytes.count - position >= 9 + length else { break }
            let (kind, flags) = (bytes[position + 3], bytes[position + 4])
            switch kind {
            case 0, 1:
                if kind == 0 { consumed += length }
                if flags & 1 != 0 {
                    finish(bytes.bigEndian(at: position + 5, as: UInt32.self), now)
                }
            case 4 where flags & 1 == 0: FrameWriter.settingsAcknowledgement(into: &output)
            case 6 where flags & 1 == 0 && length == 8:
                let opaque =
                    UInt64(bytes.bigEndian(at: position + 9, as: UInt32.self)) << 32
                    | UInt64(bytes.bigEndian(at: position + 13, as: UInt32.self))
                FrameWriter.ping(opaque, acknowledges: true, into: &output)
            default: break
            }
            position += 9 + length
        }
        if consumed >= Self.window {
            FrameWriter.windowUpdate(stream: 0, increment: UInt32(consumed), into: &output)
            consumed = 0
        }
        return position
    }

    /// Writes the answers that are due.
    mutating func wake(now: UInt64) {
        while first < waiting.count, waiting[first].due <= now {
            answer(waiting[first].stream)
            first += 1
        }
        if first == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            first = 0
        }
    }

    private mutating func finish(_ stream: UInt32, _ now: UInt64) {
        requests += 1
        if latency == 0 { return answer(stream) }
        if first > 4096 {
            waiting.removeFirst(first)
            first = 0
        }
        waiting.append((now + latency, stream))
    }

    private mutating func answer(_ stream: UInt32) {
        // END_STREAM and END_HEADERS; RFC 7541 appendix A: 8 is `:status: 200`.
        FrameWriter.head(length: 1, kind: 1, flags: 0x5, stream: stream, into: &output)
        output.append(0x88)
    }
}
