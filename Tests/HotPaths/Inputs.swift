import Synchronization
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

/// Bytes that look random and are the same in every run: BLAKE2b of a counter.
enum FixedBytes {
    static func make(_ count: Int, seed: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        var block: UInt64 = 0
        while bytes.count < count {
            var input: [UInt8] = []
            input.append(bigEndian: seed)
            input.append(bigEndian: block)
            bytes += Blake2b.hash(input.span, count: 64)
            block += 1
        }
        return Array(bytes.prefix(count))
    }

    /// For a publisher: each call gives other bytes.
    static func source(seed: UInt64) -> RandomSource {
        let calls = FixedCalls(seed)
        return RandomSource { calls.next($0) }
    }
}

private final class FixedCalls: Sendable {
    private let seed: Mutex<UInt64>

    init(_ seed: UInt64) { self.seed = Mutex(seed << 32) }

    func next(_ count: Int) -> [UInt8] {
        let seed = seed.withLock { seed in
            seed += 1
            return seed
        }
        return FixedBytes.make(count, seed: seed)
    }
}
