/// The code of digests as plainly as it can be written: bit by bit, for any values.
enum PlainCode {
    /// - Parameter values: ascending; may be beyond any range; a last group may be smaller.
    static func bits(_ values: [UInt128], bits: Int) -> [UInt8] {
        let distances = values.indices.map { $0 == 0 ? values[0] : values[$0] - values[$0 - 1] - 1 }
        var code: [UInt8] = []
        for start in stride(from: 0, to: values.count, by: 8) {
            let group = distances[start..<min(start + 8, values.count)]
            for distance in group {
                code += [UInt8](repeating: 0, count: Int(distance >> UInt128(bits))) + [1]
            }
            for distance in group {
                for bit in 0..<UInt128(bits) { code.append(UInt8(distance >> bit & 1)) }
            }
        }
        return code
    }

    static func bytes(_ values: [UInt128], bits: Int) -> [UInt8] {
        pack(self.bits(values, bits: bits))
    }

    static func pack(_ bits: [UInt8]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: (bits.count + 7) / 8)
        for (index, bit) in bits.enumerated() { bytes[index / 8] |= bit << UInt8(index % 8) }
        return bytes
    }
}
