import TestSupport
import Testing

@testable import WakePush

struct HTTP2FrameTests {
    private func raw(
        _ kind: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        FrameWriter.head(
            length: payload.count, kind: kind, flags: flags, stream: stream, into: &bytes)
        return bytes + payload
    }

    @Test("padding and priority are cut off, and padding counts against the windows")
    func padding() {
        let data = raw(0, 0x9, 1, [2, 0x61, 0, 0])
        #expect(
            FrameReader.read(data.span, at: 0)
                == .complete(.data(stream: 1, body: 10..<11, flow: 4, ends: true), end: 13))
        let headers = raw(1, 0x2c, 1, [1, 0, 0, 0, 0, 9, 0x88, 0])
        #expect(
            FrameReader.read(headers.span, at: 0)
                == .complete(
                    .headers(stream: 1, fragment: 15..<16, isWhole: true, ends: false), end: 17))
    }

    @Test("lengths, streams and padding that a kind forbids are refused by name")
    func refused() {
        let cases: [([UInt8], FrameError)] = [
            (raw(0, 0, 0, []), .badStream), (raw(1, 4, 0, []), .badStream),
            (raw(4, 0, 1, []), .badStream),
            (raw(6, 0, 1, [UInt8](repeating: 0, count: 8)), .badStream),
            (raw(7, 0, 1, [UInt8](repeating: 0, count: 8)), .badStream),
            (raw(2, 0, 1, [0]), .badLength), (raw(3, 0, 1, [0]), .badLength),
            (raw(4, 0, 0, [0]), .badLength), (raw(4, 1, 0, [0, 0, 0, 0, 0, 0]), .badLength),
            (raw(6, 0, 0, [0]), .badLength), (raw(7, 0, 0, [0]), .badLength),
            (raw(8, 0, 0, [0]), .badLength), (raw(0, 8, 1, []), .badPadding),
            (raw(0, 8, 1, [1]), .badPadding), (raw(1, 0x28, 1, [1, 0, 0, 0, 0, 0]), .badPadding),
            (raw(1, 0x20, 1, [0, 0, 0, 0]), .badPadding),
        ]
        for (bytes, error) in cases {
            #expect(FrameReader.read(bytes.span, at: 0) == .invalid(error))
        }
    }

    @Test("a frame cut anywhere needs more, and a later one is not looked at")
    func everySplit() {
        var bytes: [UInt8] = []
        FrameWriter.settings([(1, 2), (3, 4)], into: &bytes)
        FrameWriter.ping(7, acknowledges: true, into: &bytes)
        FrameWriter.goAway(lastStream: 5, code: 2, into: &bytes)
        FrameWriter.goAway(lastStream: 7, code: 11, debug: [1, 2, 3], into: &bytes)
        FrameWriter.windowUpdate(stream: 3, increment: 9, into: &bytes)
        var position = 0
        var frames: [Frame] = []
        while case .complete(let frame, let end) = FrameReader.read(bytes.span, at: position) {
            for cut in position..<end {
                #expect(FrameReader.read(Array(bytes[..<cut]).span, at: position) == .needMore)
            }
            frames.append(frame)
            position = end
        }
        #expect(position == bytes.count)
        #expect(
            frames == [
                .settings(9..<21), .pingAcknowledged(7),
                .goAway(lastStream: 5, code: 2, debug: 55..<55),
                .goAway(lastStream: 7, code: 11, debug: 72..<75),
                .windowUpdate(stream: 3, increment: 9),
            ])
    }
}
