/// One pass over a batch's digests as they come: are they strictly ascending, and which of them are
/// local?
struct DigestScan {
    /// A local digest's place among the published ones.
    struct Hit {
        let index: Int
        let secrets: [Int]
    }

    private let matcher: Matcher
    private(set) var isAscending = true
    /// By index, ascending.
    private(set) var hits: [Hit] = []
    /// Digests seen.
    private(set) var count = 0
    private var last: Digest?
    /// The beginning of a digest whose end has not come yet.
    private var partial: [UInt8] = []

    init(matcher: Matcher) {
        self.matcher = matcher
        partial.reserveCapacity(DigestWidth.long.rawValue)
    }

    /// - Parameter bytes: the next ones, cut anywhere.
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

    /// The hot loop: one load, one comparison and one look into the table for a digest, nothing
    /// allocated.
    private mutating func scanWhole(_ bytes: Span<UInt8>) {
        let stride = matcher.width.rawValue
        check(Digest(bytes, width: matcher.width), prefix: bytes.bigEndianWord(at: 0))
        var previous = bytes.bigEndianWord(at: 0)
        var offset = stride
        while offset < bytes.count {
            let prefix = bytes.bigEndianWord(at: offset)
            // Equal first words: only the rest can tell, and that is next to never needed.
            if prefix <= previous {
                let before = Digest(bytes, at: offset - stride, width: matcher.width)
                let digest = Digest(bytes, at: offset, width: matcher.width)
                if before >= digest { isAscending = false }
            }
            if matcher.mayContain(prefix) {
                note(Digest(bytes, at: offset, width: matcher.width), index: offset / stride)
            }
            previous = prefix
            offset += stride
        }
        last = Digest(bytes, at: bytes.count - stride, width: matcher.width)
        count += bytes.count / stride
    }

    private mutating func check(_ first: Digest, prefix: UInt64) {
        if let last, last >= first { isAscending = false }
        if matcher.mayContain(prefix) { note(first, index: 0) }
    }

    @inline(never)
    private mutating func note(_ digest: Digest, index: Int) {
        // Out of order the batch is refused anyway; one digest over and over must not fill memory.
        guard isAscending else { return }
        let secrets = matcher.secrets(with: digest)
        if !secrets.isEmpty { hits.append(Hit(index: count + index, secrets: secrets)) }
    }
}
