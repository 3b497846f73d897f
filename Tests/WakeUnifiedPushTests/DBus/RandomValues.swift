import TestSupport
import WakeSystem
import WakeUnifiedPush

extension BusValue {
    /// A value of any type, containers within containers included.
    static func random(using random: inout SplitMix64, depth: Int = 0) -> BusValue {
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

    private static func array(of value: BusValue, using random: inout SplitMix64) -> BusValue {
        var message = BusMessage(.signal)
        message.body = [value]
        guard let type = message.signature, type != "y" else { return .bytes([]) }
        let count = Int.random(in: 0...3, using: &random)
        return .array(of: type, Array(repeating: value, count: count))
    }

    private static func dictionary(
        of value: BusValue, using random: inout SplitMix64
    ) -> BusValue {
        var message = BusMessage(.signal)
        message.body = [value]
        guard let type = message.signature else { return .bytes([]) }
        let count = UInt8.random(in: 0...3, using: &random)
        return .dictionary(
            key: "y", value: type, (0..<count).map { BusEntry(key: .byte($0), value: value) })
    }
}
