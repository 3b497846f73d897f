internal import WakeSodium

/// Random bytes for salts, decoys, nonces and the order of items; given, so that format vectors can
/// be made again byte for byte.
package struct RandomSource: Sendable {
    private let fill: @Sendable (Int) -> [UInt8]

    /// - Parameter fill: makes as many bytes as asked for.
    package init(_ fill: @escaping @Sendable (Int) -> [UInt8]) {
        self.fill = fill
    }

    /// libsodium's generator.
    package static let system = RandomSource { Sodium.random($0) }

    package func bytes(_ count: Int) -> [UInt8] {
        let bytes = fill(count)
        precondition(bytes.count == count)
        return bytes
    }

    func salt() -> BatchSalt {
        while true {
            if let salt = BatchSalt(bytes(16)) { return salt }
        }
    }

    /// An even random order of `0..<count` (Fisher and Yates).
    func order(_ count: Int) -> [Int] {
        var order = Array(0..<count)
        guard count > 1 else { return order }
        let words = bytes((count - 1) * 8)
        for place in stride(from: count - 1, to: 0, by: -1) {
            let word: UInt64 = words.span.littleEndian(at: (place - 1) * 8)
            // 64 random bits spread over at most 2²⁶ places: the bias is below 2⁻³⁸.
            order.swapAt(place, Int(word.multipliedFullWidth(by: UInt64(place + 1)).high))
        }
        return order
    }
}
