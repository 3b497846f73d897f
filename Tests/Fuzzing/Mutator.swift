import WakePush

/// Makes new inputs of old ones, with an eye for frames.
struct Mutator {
    private let property: Property
    private let seeds: [[UInt8]]
    private var random: FuzzRandom

    init(_ property: Property, seed: UInt64) {
        self.property = property
        seeds = Seeds.of(property)
        random = FuzzRandom(seed: seed)
    }

    mutating func next() -> [UInt8] {
        var input = seeds[below(seeds.count)]
        for _ in 0...below(6) { change(&input) }
        return input
    }

    private mutating func below(_ count: Int) -> Int {
        Int(random.next() % UInt64(max(1, count)))
    }

    private mutating func change(_ input: inout [UInt8]) {
        let place = below(input.count)
        switch below(9) {
        case 0 where !input.isEmpty: input[place] ^= 1 << UInt8(below(8))
        case 1 where !input.isEmpty: input[place] = UInt8(below(256))
        case 2 where !input.isEmpty: input[place] = [0, 1, 0x7f, 0x80, 0xff][below(5)]
        case 3 where !input.isEmpty:
            input.removeSubrange(place..<min(input.count, place + below(12)))
        case 4: input.insert(contentsOf: (0..<below(12)).map { UInt8($0) }, at: place)
        case 5: input.append(contentsOf: seeds[below(seeds.count)].dropFirst(below(40)))
        case 6: input.insert(contentsOf: input[place...].prefix(below(40)), at: place)
        default:
            if property == .headers || property == .pages || property == .bus {
                input.insert(UInt8(below(256)), at: place)
            } else {
                input.append(contentsOf: frame())
            }
        }
        if input.count > 3000 { input.removeLast(input.count - 3000) }
    }

    /// A frame that is right in itself, at least.
    private mutating func frame() -> [UInt8] {
        var bytes: [UInt8] = []
        let stream = UInt32(below(24))
        let number = UInt32([0, 1, 7, 100, 65_535, 0x7fff_ffff][below(6)])
        let blocks: [[UInt8]] = [[0x88], [0x8c], [0x8d, 0xbe], [0x48, 3, 0x34, 0x32, 0x39], []]
        let block = blocks[below(blocks.count)]
        let (isWhole, ends) = (below(4) > 0, below(4) > 0)
        switch below(8) {
        case 0: FrameWriter.settings([(UInt16(below(7)), number)], into: &bytes)
        case 1: FrameWriter.windowUpdate(stream: stream, increment: number, into: &bytes)
        case 2: FrameWriter.reset(stream: stream, code: number, into: &bytes)
        case 3:
            let reason = Array(#"{"reason":"IdleTimeout","timestamp":1}"#.utf8)
            let debug = Array(reason.prefix(below(2 * reason.count)))
            FrameWriter.goAway(lastStream: stream, code: number, debug: debug, into: &bytes)
        case 4:
            let body = [UInt8](repeating: 0x78, count: below(600))
            FrameWriter.data(stream: stream, body: body[...], ends: ends, into: &bytes)
        case 5:
            FrameWriter.continuation(stream: stream, block: block, isWhole: isWhole, into: &bytes)
        default:
            FrameWriter.headers(
                stream: stream, block: block, isWhole: isWhole, ends: ends, into: &bytes)
        }
        return bytes
    }
}
