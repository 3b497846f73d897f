import WakePush
import WakeSystem

/// The frame reader: it stays inside its bytes, says the same of every beginning of them, and reads
/// back what the writer wrote.
enum FrameProperty {
    /// - Parameter input: frames.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        var position = 0
        while true {
            let read = FrameReader.read(input.span, at: position)
            try checkBeginnings(input, position, read)
            guard case .complete(let frame, let end) = read else { return position > 0 }
            try require(
                end >= position + FrameReader.headBytes && end <= input.count,
                "a frame ends outside its bytes")
            if let range = frame.range {
                try require(
                    range.lowerBound >= position + FrameReader.headBytes
                        && range.upperBound <= end, "a range outside its frame")
            }
            try checkRoundTrip(frame, input)
            position = end
        }
    }

    /// A frame cut short needs more, unless its head alone is wrong.
    private static func checkBeginnings(
        _ input: [UInt8], _ start: Int, _ read: FrameRead
    ) throws(Violation) {
        let end: Int
        if case .complete(_, let next) = read { end = next } else { end = input.count }
        let step = max(1, (end - start) / 12)
        for cut in stride(from: start, to: end, by: step) {
            let beginning = Array(input[..<cut])
            let short = FrameReader.read(beginning.span, at: start)
            switch read {
            case .complete, .needMore:
                try require(short == .needMore, "a beginning of a frame is more than that")
            case .invalid:
                try require(short == .needMore || short == read, "a refusal that changes")
            }
        }
    }

    private static func checkRoundTrip(_ frame: Frame, _ input: [UInt8]) throws(Violation) {
        var bytes: [UInt8] = []
        var moved = frame
        switch frame {
        case .data(let stream, let body, _, let ends):
            FrameWriter.data(stream: stream, body: input[body], ends: ends, into: &bytes)
            moved = .data(
                stream: stream, body: 9..<9 + body.count, flow: body.count, ends: ends)
        case .headers(let stream, let part, let isWhole, let ends):
            FrameWriter.headers(
                stream: stream, block: Array(input[part]), isWhole: isWhole, ends: ends,
                into: &bytes)
            moved = .headers(
                stream: stream, fragment: 9..<9 + part.count, isWhole: isWhole, ends: ends)
        case .continuation(let stream, let part, let isWhole):
            FrameWriter.continuation(
                stream: stream, block: Array(input[part]), isWhole: isWhole, into: &bytes)
            moved = .continuation(
                stream: stream, fragment: 9..<9 + part.count, isWhole: isWhole)
        case .reset(let stream, let code):
            FrameWriter.reset(stream: stream, code: code, into: &bytes)
        case .settings(let range):
            let entries = stride(from: range.lowerBound, to: range.upperBound, by: 6).map {
                (
                    id: input.span.bigEndian(at: $0, as: UInt16.self),
                    value: input.span.bigEndian(at: $0 + 2, as: UInt32.self)
                )
            }
            FrameWriter.settings(entries, into: &bytes)
            moved = .settings(9..<9 + range.count)
        case .settingsAcknowledged: FrameWriter.settingsAcknowledgement(into: &bytes)
        case .ping(let opaque): FrameWriter.ping(opaque, acknowledges: false, into: &bytes)
        case .pingAcknowledged(let opaque):
            FrameWriter.ping(opaque, acknowledges: true, into: &bytes)
        case .goAway(let last, let code, let debug):
            FrameWriter.goAway(
                lastStream: last, code: code, debug: Array(input[debug]), into: &bytes)
            moved = .goAway(lastStream: last, code: code, debug: 17..<17 + debug.count)
        case .windowUpdate(let stream, let increment):
            FrameWriter.windowUpdate(stream: stream, increment: increment, into: &bytes)
        case .priority, .pushPromise, .unknown: return
        }
        try require(
            FrameReader.read(bytes.span, at: 0) == .complete(moved, end: bytes.count),
            "what was written is not what is read")
        guard let from = frame.range, let to = moved.range else { return }
        try require(input[from].elementsEqual(bytes[to]), "a payload that changes")
    }
}

extension Frame {
    /// Where its payload is, of those that have one.
    fileprivate var range: Range<Int>? {
        switch self {
        case .data(_, let range, _, _), .headers(_, let range, _, _), .settings(let range),
            .continuation(_, let range, _), .goAway(_, _, let range):
            range
        default: nil
        }
    }
}
