import WakeSystem

/// A hash table of the digests of the local secrets under one width and salt.
public struct Matcher: Sendable {
    let width: DigestWidth
    /// By the secret's index.
    private let digests: [Digest]
    /// One bit for each digest, chosen by its first bits; at most one in 128 is set. Published
    /// digests are ascending: the part they need is in the processor's nearest cache.
    private let filter: [UInt64]
    private let filterShift: UInt64
    /// The first secret of each chain, chosen by the digest's first bits.
    private let heads: [UInt32]
    private let headShift: UInt64
    private let next: [UInt32]

    private static let none = UInt32.max

    /// A matcher for a batch with digests of this width and this salt.
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
            let chain = Int(prefix >> headShift)
            next[index] = heads[chain]
            heads[chain] = UInt32(index)
        }
        self.filter = filter
        self.heads = heads
        self.next = next
    }

    /// Bits of a number below `count`.
    private static func bits(for count: Int) -> UInt64 {
        UInt64(Int.bitWidth - (count - 1).leadingZeroBitCount)
    }

    /// Whether a digest with these first eight bytes may be a local one; false positives are rare.
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

/// A scan of a batch's digests in chunks: checks their order and finds the local ones.
struct DigestScan {
    /// The index of a local digest among the published ones.
    struct Hit {
        let index: Int
        let secrets: [Int]
    }

    private let matcher: Matcher
    private(set) var isAscending = true
    /// By index, ascending.
    private(set) var hits: [Hit] = []
    private(set) var count = 0
    private var last: Digest?
    /// The beginning of an incomplete digest.
    private var partial: [UInt8] = []

    init(matcher: Matcher) {
        self.matcher = matcher
        partial.reserveCapacity(DigestWidth.long.rawValue)
    }

    mutating func scan(_ bytes: Span<UInt8>) {
        let width = matcher.width.rawValue
        var start = 0
        if !partial.isEmpty {
            while partial.count < width, start < bytes.count {
                partial.append(bytes[start])
                start += 1
            }
            guard partial.count == width else { return }
            let whole = partial
            partial.removeAll(keepingCapacity: true)
            scanWhole(whole.span)
        }
        let whole = (bytes.count - start) / width * width
        if whole > 0 { scanWhole(bytes.extracting(start..<start + whole)) }
        for index in start + whole..<bytes.count { partial.append(bytes[index]) }
    }

    /// The hot loop: per digest one load, one comparison and one filter look-up, no allocation.
    private mutating func scanWhole(_ bytes: Span<UInt8>) {
        let stride = matcher.width.rawValue
        check(Digest(bytes, width: matcher.width), prefix: bytes.bigEndian(at: 0, as: UInt64.self))
        var previous = bytes.bigEndian(at: 0, as: UInt64.self)
        var offset = stride
        while offset < bytes.count {
            let prefix = bytes.bigEndian(at: offset, as: UInt64.self)
            // Equal first words, which are rare: the rest decides.
            if prefix <= previous {
                let before = Digest(bytes, at: offset - stride, width: matcher.width)
                let digest = Digest(bytes, at: offset, width: matcher.width)
                if before >= digest { isAscending = false }
            }
            if matcher.mayContain(prefix) {
                record(Digest(bytes, at: offset, width: matcher.width), index: offset / stride)
            }
            previous = prefix
            offset += stride
        }
        last = Digest(bytes, at: bytes.count - stride, width: matcher.width)
        count += bytes.count / stride
    }

    private mutating func check(_ first: Digest, prefix: UInt64) {
        if let last, last >= first { isAscending = false }
        if matcher.mayContain(prefix) { record(first, index: 0) }
    }

    @inline(never)
    private mutating func record(_ digest: Digest, index: Int) {
        // A batch out of order is refused anyway; one digest repeated must not fill memory.
        guard isAscending else { return }
        let secrets = matcher.secrets(with: digest)
        if !secrets.isEmpty { hits.append(Hit(index: count + index, secrets: secrets)) }
    }
}
