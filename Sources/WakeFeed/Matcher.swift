/// The digests of the local secrets under one width and salt, ready to be found among published
/// ones in constant time each.
public struct Matcher: Sendable {
    /// What the digests are derived with.
    let width: DigestWidth
    /// By the secret's index.
    private let digests: [Digest]
    /// One bit for each digest, chosen by the digest's first bits; at most one bit in 128 is set,
    /// so it answers nearly always. Published digests are ascending: they walk through it once,
    /// and what they need of it is in the processor's nearest cache.
    private let filter: [UInt64]
    private let filterShift: UInt64
    /// The first secret of each chain, chosen by the digest's first bits too, and for each secret
    /// the next one of its chain, by index.
    private let heads: [UInt32]
    private let headShift: UInt64
    private let next: [UInt32]

    private static let none = UInt32.max

    /// - Parameters:
    ///   - secrets: in the order matches speak of them.
    ///   - salt: of the batch to search.
    public init(secrets: [LocalSecret], width: DigestWidth, salt: BatchSalt?) {
        let derivation = DigestDerivation(width: width, salt: salt)
        self.init(digests: secrets.map { derivation.digest(of: $0.bytes) }, width: width)
    }

    /// - Parameter digests: by the secret's index; equal ones are all found.
    init(digests: [Digest], width: DigestWidth) {
        precondition(digests.count < Int(Self.none))
        self.width = width
        self.digests = digests
        let filterBits = Self.bits(for: max(digests.count * 128, 4096))
        let headBits = Self.bits(for: max(digests.count * 2, 2))
        filterShift = 64 - filterBits
        headShift = 64 - headBits
        var filter = [UInt64](repeating: 0, count: 1 << Int(filterBits - 6))
        var heads = [UInt32](repeating: Self.none, count: 1 << Int(headBits))
        var next = [UInt32](repeating: Self.none, count: digests.count)
        // Backwards, so that each chain has its secrets in ascending order.
        for index in digests.indices.reversed() {
            let prefix = digests[index].prefix
            let bit = prefix >> filterShift
            filter[Int(bit >> 6)] |= 1 << (bit & 63)
            let place = Int(prefix >> headShift)
            next[index] = heads[place]
            heads[place] = UInt32(index)
        }
        self.filter = filter
        self.heads = heads
        self.next = next
    }

    /// How many bits number so many places.
    private static func bits(for count: Int) -> UInt64 {
        UInt64(Int.bitWidth - (count - 1).leadingZeroBitCount)
    }

    /// Whether a digest with these first eight bytes may be a local one; seldom wrong.
    @inline(__always)
    func mayContain(_ prefix: UInt64) -> Bool {
        let bit = prefix &>> filterShift
        return filter[Int(truncatingIfNeeded: bit &>> 6)] &>> (bit & 63) & 1 != 0
    }

    /// The secrets that have this digest, as indices, ascending.
    func secrets(with digest: Digest) -> [Int] {
        var found: [Int] = []
        var index = heads[Int(digest.prefix >> headShift)]
        while index != Self.none {
            if digests[Int(index)] == digest { found.append(Int(index)) }
            index = next[Int(index)]
        }
        return found
    }
}
