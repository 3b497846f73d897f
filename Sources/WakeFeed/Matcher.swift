/// The digests of the local secrets under one width and salt, ready to be found among published
/// ones in constant time each.
public struct Matcher: Sendable {
    /// What the digests are derived with.
    let width: DigestWidth
    /// Ascending; a digest stands here once for each secret that has it.
    private let local: [(digest: Digest, secret: Int)]
    /// Open addressing over the digests' first eight bytes, at most an eighth full. Zero is a free
    /// place: a digest that begins with eight zeros is looked up without the table.
    private let table: [UInt64]
    private let mask: UInt64

    /// - Parameters:
    ///   - secrets: in the order matches speak of them.
    ///   - salt: of the batch to search.
    public init(secrets: [LocalSecret], width: DigestWidth, salt: BatchSalt?) {
        self.width = width
        local = secrets.indices
            .map { (Digest(of: secrets[$0].bytes, salt: salt, width: width), $0) }
            .sorted { $0 < $1 }
        var capacity = 64
        while capacity < local.count * 8 { capacity *= 2 }
        mask = UInt64(capacity - 1)
        var table = [UInt64](repeating: 0, count: capacity)
        for (digest, _) in local {
            // Digests are uniform already: their own low bits spread them.
            var place = Int(digest.prefix & mask)
            while table[place] != 0, table[place] != digest.prefix {
                place = (place + 1) & (capacity - 1)
            }
            table[place] = digest.prefix
        }
        self.table = table
    }

    /// Whether a digest with these first eight bytes may be a local one; hardly ever wrong.
    @inline(__always)
    func mayContain(_ prefix: UInt64) -> Bool {
        var place = prefix & mask
        while true {
            let entry = table[Int(truncatingIfNeeded: place)]
            if entry == prefix { return true }
            if entry == 0 { return false }
            place = (place + 1) & mask
        }
    }

    /// The secrets that have this digest, as indices.
    func secrets(with digest: Digest) -> [Int] {
        var low = 0
        var high = local.count
        while low < high {
            let middle = (low + high) / 2
            if local[middle].digest < digest { low = middle + 1 } else { high = middle }
        }
        return local[low...].prefix { $0.digest == digest }.map(\.secret)
    }

    /// Digest and secret's index, digests ascending.
    var entries: [(digest: Digest, secret: Int)] { local }
}
