import TestSupport

/// Makes new inputs of old ones; the same for the same seed.
struct Mutator {
    private let inputs: [[UInt8]]
    private var random: SplitMix64
    private static let longest = 3000

    init(_ inputs: [[UInt8]], seed: UInt64) {
        self.inputs = inputs
        random = SplitMix64(seed: seed)
    }

    mutating func next() -> [UInt8] {
        var input = inputs[below(inputs.count)]
        for _ in 0...below(6) { change(&input) }
        return input
    }

    private mutating func below(_ count: Int) -> Int {
        Int(random.next() % UInt64(max(1, count)))
    }

    private mutating func change(_ input: inout [UInt8]) {
        let place = below(input.count)
        switch below(8) {
        case 0 where !input.isEmpty: input[place] ^= 1 << UInt8(below(8))
        case 1 where !input.isEmpty: input[place] = UInt8(below(256))
        case 2 where !input.isEmpty: input[place] = [0, 1, 0x7f, 0x80, 0xff][below(5)]
        case 3 where !input.isEmpty:
            input.removeSubrange(place..<min(input.count, place + below(12)))
        case 4: input.insert(contentsOf: (0..<below(12)).map { UInt8($0) }, at: place)
        case 5: input.append(contentsOf: inputs[below(inputs.count)].dropFirst(below(40)))
        case 6: input.insert(contentsOf: input[place...].prefix(below(40)), at: place)
        default: input.insert(UInt8(below(256)), at: place)
        }
        if input.count > Self.longest { input.removeLast(input.count - Self.longest) }
    }
}
