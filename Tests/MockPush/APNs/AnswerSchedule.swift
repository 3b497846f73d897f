import WakePush
import WakeSystem

/// Every answer that was ever needed, with its frames, and how often it was given. A number stands
/// for an answer from when it is decided to when it leaves.
final class AnswerSchedule {
    /// Frames of an answer, without the stream.
    struct Encoded {
        fileprivate(set) var bytes: [UInt8] = []
        /// Where the stream goes.
        fileprivate(set) var places: [Int] = []
        /// Bytes that count against the client's window.
        fileprivate(set) var bodyCount = 0
    }

    private struct Page {
        var answer: Answer
        var encoded: Encoded
        var given = 0
    }

    static let accepted = 0
    private static let frameBytes = 16_384

    private var pages: [Page] = []

    init() { _ = number(of: .accepted) }

    /// The number of an answer.
    func number(of answer: Answer) -> Int {
        if let known = pages.firstIndex(where: { $0.answer == answer }) { return known }
        var none = DynamicHeaders(isOn: false)
        pages.append(Page(answer: answer, encoded: Self.encode(answer, &none)))
        return pages.count - 1
    }

    func give(_ number: Int) { pages[number].given += 1 }

    func bodyCount(_ number: Int) -> Int { pages[number].encoded.bodyCount }

    /// Appends the frames of an answer.
    func write(
        _ number: Int, on stream: UInt32, _ dynamic: inout DynamicHeaders,
        into output: inout [UInt8]
    ) {
        let start = output.count
        if dynamic.isOn {
            let encoded = Self.encode(pages[number].answer, &dynamic)
            output += encoded.bytes
            for place in encoded.places { Bytes.put(stream, into: &output, at: start + place) }
            return
        }
        output += pages[number].encoded.bytes
        for place in pages[number].encoded.places {
            Bytes.put(stream, into: &output, at: start + place)
        }
    }

    /// How often each status was given.
    var given: [Int: Int] {
        Dictionary(pages.map { ($0.answer.status, $0.given) }, uniquingKeysWith: +)
            .filter { $0.value > 0 }
    }

    private static func encode(_ answer: Answer, _ dynamic: inout DynamicHeaders) -> Encoded {
        var encoded = Encoded()
        let body = answer.body
        let block = answer.block(&dynamic)
        encoded.places.append(5)
        FrameWriter.headers(
            stream: 0, block: Array(block.prefix(frameBytes)), isWhole: block.count <= frameBytes,
            ends: body.isEmpty, into: &encoded.bytes)
        for start in stride(from: frameBytes, to: block.count, by: frameBytes) {
            let end = min(start + frameBytes, block.count)
            encoded.places.append(encoded.bytes.count + 5)
            FrameWriter.continuation(
                stream: 0, block: Array(block[start..<end]), isWhole: end == block.count,
                into: &encoded.bytes)
        }
        if !body.isEmpty {
            encoded.places.append(encoded.bytes.count + 5)
            FrameWriter.data(stream: 0, body: body[...], ends: true, into: &encoded.bytes)
        }
        encoded.bodyCount = body.count
        return encoded
    }
}
