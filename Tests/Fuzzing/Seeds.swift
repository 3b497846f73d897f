import WakePush

/// Where fuzzing begins: conversations and blocks that are right.
enum Seeds {
    static func of(_ property: Property) -> [[UInt8]] {
        switch property {
        case .frames: conversations
        case .headers: blocks
        case .connection: conversations.flatMap { script in [[3, 1] + script, [7, 9] + script] }
        case .pages: PageProperty.seeds
        case .bus: BusProperty.seeds
        }
    }

    private static let conversations: [[UInt8]] = [
        bytes { FrameWriter.settings([(3, 100), (4, 65_535), (1, 4096)], into: &$0) },
        bytes {
            FrameWriter.settings([], into: &$0)
            // After 64 bytes pushes are made: something to fill them.
            for number in UInt64(0)..<4 { FrameWriter.ping(number, acknowledges: false, into: &$0) }
            FrameWriter.headers(stream: 1, block: [0x88], ends: true, into: &$0)
            for number in UInt64(0)..<4 { FrameWriter.ping(number, acknowledges: true, into: &$0) }
            for stream in [UInt32(3), 5, 7] {
                FrameWriter.headers(stream: stream, block: [0x88], ends: true, into: &$0)
            }
            FrameWriter.headers(
                stream: 9, block: [0x8c], isWhole: false, ends: false, into: &$0)
            FrameWriter.continuation(
                stream: 9, block: [0x40, 1, 0x61, 0], isWhole: true, into: &$0)
            FrameWriter.data(stream: 9, body: [0x7b, 0x7d], ends: true, into: &$0)
            FrameWriter.reset(stream: 11, code: 7, into: &$0)
            FrameWriter.windowUpdate(stream: 0, increment: 1000, into: &$0)
            FrameWriter.goAway(lastStream: 13, code: 0, debug: shutdown, into: &$0)
            FrameWriter.headers(stream: 13, block: [0xbe, 0x88], ends: true, into: &$0)
        },
        bytes {
            FrameWriter.settings([(4, 3), (1, 0), (3, 2)], into: &$0)
            for number in UInt64(0)..<3 { FrameWriter.ping(number, acknowledges: false, into: &$0) }
            FrameWriter.windowUpdate(stream: 1, increment: 20, into: &$0)
            FrameWriter.headers(
                stream: 1, block: [0x88, 0x5c, 1, 0x30], ends: true, into: &$0)
            FrameWriter.settings([(4, 100), (3, 50)], into: &$0)
            FrameWriter.headers(stream: 3, block: retryBlock, ends: true, into: &$0)
            FrameWriter.headers(stream: 5, block: [0x88], ends: false, into: &$0)
            FrameWriter.data(stream: 5, body: [], ends: true, into: &$0)
        },
    ]

    private static let shutdown = Array(#"{"reason":"Shutdown"}"#.utf8)

    private static let retryBlock: [UInt8] = bytes { block in
        HPACKWriter.literal(
            name: Array(":status".utf8), value: Array("429".utf8), .incremental, into: &block)
        HPACKWriter.literal(
            name: Array("retry-after".utf8), value: Array("17".utf8), .without, into: &block)
    }

    private static let blocks: [[UInt8]] = [
        framed([[0x88], [0x8d, 0x40, 1, 0x61, 1, 0x62], [0xbe, 0x88]]),
        framed([retryBlock, [0xbe], [0x20, 0x3f, 0xe1, 0x1f, 0x88]]),
        framed([
            // RFC 7541 §C.4.1
            [0x82, 0x86, 0x84, 0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b]
                + [0xa0, 0xab, 0x90, 0xf4, 0xff]
        ]),
    ]

    private static func framed(_ blocks: [[UInt8]]) -> [UInt8] {
        blocks.flatMap { [UInt8($0.count)] + $0 }
    }

    private static func bytes(_ write: (inout [UInt8]) -> Void) -> [UInt8] {
        var bytes: [UInt8] = []
        write(&bytes)
        return bytes
    }
}
