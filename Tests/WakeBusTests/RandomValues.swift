import WakeBus

/// SplitMix64: the same numbers for the same seed.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

extension BusValue {
    /// A value of any type, containers within containers included.
    static func random(using random: inout SeededRandom, depth: Int = 0) -> BusValue {
        switch Int.random(in: 0..<(depth < 4 ? 18 : 13), using: &random) {
        case 0: .byte(.random(in: 0...255, using: &random))
        case 1: .boolean(.random(using: &random))
        case 2: .int16(.random(in: .min ... .max, using: &random))
        case 3: .uint16(.random(in: 0 ... .max, using: &random))
        case 4: .int32(.random(in: .min ... .max, using: &random))
        case 5: .uint32(.random(in: 0 ... .max, using: &random))
        case 6: .int64(.random(in: .min ... .max, using: &random))
        case 7: .uint64(.random(in: 0 ... .max, using: &random))
        case 8: .double(.random(in: -1e9...1e9, using: &random))
        case 9:
            .string(
                ["", "a", "héllo", "\u{1F600}", "a longer text"].randomElement(using: &random)!)
        case 10:
            .objectPath(Array(["/", "/a", "/org/example"].randomElement(using: &random)!.utf8))
        case 11: .signature(Array(["", "as", "a{sv}"].randomElement(using: &random)!.utf8))
        case 12: .bytes((0..<Int.random(in: 0...9, using: &random)).map { UInt8($0) })
        case 13, 14: .variant(.random(using: &random, depth: depth + 1))
        case 15:
            .structure(
                (0...Int.random(in: 0...3, using: &random)).map { _ in
                    .random(using: &random, depth: depth + 1)
                })
        case 16: array(of: .random(using: &random, depth: depth + 1), using: &random)
        default: dictionary(of: .random(using: &random, depth: depth + 1), using: &random)
        }
    }

    private static func array(of value: BusValue, using random: inout SeededRandom) -> BusValue {
        var message = BusMessage(.signal)
        message.body = [value]
        guard let type = message.signature, type != "y" else { return .bytes([]) }
        let count = Int.random(in: 0...3, using: &random)
        return .array(of: type, Array(repeating: value, count: count))
    }

    private static func dictionary(
        of value: BusValue, using random: inout SeededRandom
    ) -> BusValue {
        var message = BusMessage(.signal)
        message.body = [value]
        guard let type = message.signature else { return .bytes([]) }
        let count = UInt8.random(in: 0...3, using: &random)
        return .dictionary(
            key: "y", value: type, (0..<count).map { BusEntry(key: .byte($0), value: value) })
    }
}
