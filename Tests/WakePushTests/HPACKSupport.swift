@testable import WakePush

/// Deterministic numbers for properties: a failure is the same on every machine.
struct HPACKRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    // SplitMix64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

func hex(_ text: String) -> [UInt8] {
    let digits = text.utf8.filter { $0 != 0x20 }.map { digit -> UInt8 in
        digit >= 0x61 ? digit - 0x61 + 10 : digit - 0x30
    }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// The list as `name: value` lines.
func lines(_ list: HeaderList) -> [String] {
    (0..<list.count).map { index in
        String(decoding: list.name(index), as: UTF8.self) + ": "
            + String(decoding: list.value(index), as: UTF8.self)
    }
}
