import WakeBytes

/// The values that the local secrets' digests have in one batch, ascending, as published ones come.
struct Matcher: Sendable {
    let range: DigestRange
    /// Behind the last comes the largest number.
    let values: [UInt64]
    /// The index of each value's secret; ascending where values are equal.
    let secrets: [UInt32]

    /// - Parameter digests: by the secret's index; equal ones are all found.
    init(digests: [Digest], range: DigestRange) {
        precondition(digests.count <= Int(Int32.max))
        self.range = range
        let unsorted = digests.map(range.value(of:))
        // Even values: their first bits put each near its place (a counting sort), and what is left
        // is small. Sorting by comparisons takes longer than deriving the digests.
        let bits = max(1, Int.bitWidth - unsorted.count.leadingZeroBitCount)
        let shift = UInt64(range.bitWidth - bits)
        var ends = [Int](repeating: 0, count: 1 << bits)
        for value in unsorted { ends[Int(value >> shift)] += 1 }
        for index in 1..<ends.count { ends[index] += ends[index - 1] }
        var values = [UInt64](repeating: 0, count: unsorted.count)
        var secrets = [UInt32](repeating: 0, count: unsorted.count)
        // Backwards, so that equal values keep the order of their secrets.
        for index in unsorted.indices.reversed() {
            let bucket = Int(unsorted[index] >> shift)
            ends[bucket] -= 1
            values[ends[bucket]] = unsorted[index]
            secrets[ends[bucket]] = UInt32(index)
        }
        for index in values.indices.dropFirst() {
            let (value, secret) = (values[index], secrets[index])
            var place = index
            while place > 0, values[place - 1] > value {
                values[place] = values[place - 1]
                secrets[place] = secrets[place - 1]
                place -= 1
            }
            values[place] = value
            secrets[place] = secret
        }
        (self.values, self.secrets) = (values + [.max], secrets)
    }
}

/// A scan of a batch's digests in chunks of their code: decodes them and finds the local ones.
struct DigestScan {
    /// The index of a local digest among the published ones.
    struct Hit {
        let index: Int
        let secrets: [Int]
    }

    private let matcher: Matcher
    private var decoder: RiceDecoder
    /// By index, ascending.
    private(set) var hits: [Hit] = []
    /// Of the next local value, among all.
    private var place = 0

    init(matcher: Matcher) {
        self.matcher = matcher
        decoder = RiceDecoder(range: matcher.range, floor: matcher.values[0])
    }

    /// The code is whole, and nothing else.
    var isComplete: Bool { decoder.isComplete }

    /// Both sides ascend: published values below the next local one need nothing but decoding. Hits
    /// are no more than there are local digests, whatever was signed.
    mutating func scan(_ bytes: Span<UInt8>) {
        let (values, secrets) = (matcher.values, matcher.secrets)
        var place = place
        var found: [Hit] = []
        decoder.decode(bytes) { group, index in
            while place < secrets.count, values[place] <= group[7] {
                let value = values[place]
                // Without a branch for each: which one it is can nobody predict.
                var equal = 0
                for item in 0..<8 { equal &+= group[item] == value ? 1 : 0 }
                let first = place
                repeat { place += 1 } while values[place] == value && place < secrets.count
                if equal > 0 {
                    let item = (0..<7).first { group[$0] == value } ?? 7
                    let equals = secrets[first..<place].map { Int($0) }
                    found.append(Hit(index: index + item, secrets: equals))
                }
            }
            return values[place]
        }
        self.place = place
        hits += found
    }
}
