import Glibc
import WakeFeed
import WakeModel
import WakeSystem

/// The yardstick of compact batches: as many digests as one of a feed, of 16 bytes each, ascending,
/// behind the same signed header, checked in the same windows and as thoroughly: signature, hash,
/// order, search.
struct FixedWidthBatch {
    enum Failure: Error {
        case refused
    }

    private static let width = 16
    /// Header, then the payload's hash, which the header of a real one would have.
    private static let headBytes = FeedLimits.headerBytes + 32

    /// Writes random digests, with those of some secrets among them.
    static func write(
        _ path: String, beside header: [UInt8], count: Int, salt: BatchSalt?, secrets: [LocalSecret]
    ) throws {
        var digests = secrets.map { Digest(of: $0.bytes, salt: salt) }
        let random = Sodium.random((count - digests.count) * width)
        for offset in stride(from: 0, to: random.count, by: width) {
            digests.append(Digest(random.span, at: offset))
        }
        var payload: [UInt8] = []
        payload.reserveCapacity(count * width)
        for digest in digests.sorted(by: <) { digest.append(to: &payload) }
        let bytes = header + Blake2b.hash(payload.span) + payload
        try Files.create(path, with: bytes.span)
    }

    /// - Returns: the indices of the secrets that were found.
    static func check(
        _ file: OpenFile, key: FeedKey, for wanted: FixedWidthTable, window: Int
    ) throws -> [Int] {
        let head = try file.read(at: 0, count: headBytes)
        var message = Array("wake-feed/batch/1\n".utf8)
        message.append(span: head.span.extracting(0..<FeedLimits.headerBytes - 64))
        let signature = head.span.extracting(FeedLimits.headerBytes - 64..<FeedLimits.headerBytes)
        guard key.verifying.verifies(signature, of: message.span) else { throw Failure.refused }
        let hash = Blake2b()
        var scan = FixedWidthScan(table: wanted)
        var offset = headBytes
        while true {
            let piece = try file.read(at: offset, count: window)
            if piece.isEmpty { break }
            hash.update(piece.span)
            scan.scan(piece.span)
            offset += piece.count
        }
        guard hash.finish().span.equals(head.span.extracting(FeedLimits.headerBytes..<headBytes)),
            scan.isAscending
        else { throw Failure.refused }
        return scan.found
    }
}

/// A hash table of digests of 16 bytes behind a filter.
struct FixedWidthTable {
    private let digests: [Digest]
    private let filter: [UInt64]
    private let filterShift: UInt64
    private let heads: [UInt32]
    private let headShift: UInt64
    private let next: [UInt32]
    private static let none = UInt32.max

    init(_ secrets: [LocalSecret], salt: BatchSalt?) {
        digests = secrets.map { Digest(of: $0.bytes, salt: salt) }
        let filterBits = Self.bits(for: max(digests.count * 128, 4096))
        let headBits = Self.bits(for: max(digests.count * 2, 2))
        (filterShift, headShift) = (64 - filterBits, 64 - headBits)
        var filter = [UInt64](repeating: 0, count: 1 << Int(filterBits - 6))
        var heads = [UInt32](repeating: Self.none, count: 1 << Int(headBits))
        var next = [UInt32](repeating: Self.none, count: digests.count)
        for index in digests.indices.reversed() {
            let bit = digests[index].high >> filterShift
            filter[Int(bit >> 6)] |= 1 << (bit & 63)
            let chain = Int(digests[index].high >> headShift)
            next[index] = heads[chain]
            heads[chain] = UInt32(index)
        }
        (self.filter, self.heads, self.next) = (filter, heads, next)
    }

    private static func bits(for count: Int) -> UInt64 {
        UInt64(Int.bitWidth - (count - 1).leadingZeroBitCount)
    }

    @inline(__always)
    func mayContain(_ start: UInt64) -> Bool {
        let bit = start &>> filterShift
        return filter[Int(truncatingIfNeeded: bit &>> 6)] &>> (bit & 63) & 1 != 0
    }

    @inline(never)
    func find(_ digest: Digest, _ found: inout [Int]) {
        var index = heads[Int(digest.high >> headShift)]
        while index != Self.none {
            if digests[Int(index)] == digest { found.append(Int(index)) }
            index = next[Int(index)]
        }
    }
}

/// A scan of whole digests, window after window.
private struct FixedWidthScan {
    let table: FixedWidthTable
    private(set) var isAscending = true
    private(set) var found: [Int] = []
    private var last: Digest?

    init(table: FixedWidthTable) { self.table = table }

    mutating func scan(_ bytes: Span<UInt8>) {
        let first = Digest(bytes)
        if let last, last >= first { isAscending = false }
        if table.mayContain(first.high) { table.find(first, &found) }
        var previous = first.high
        var offset = 16
        while offset < bytes.count {
            let start = bytes.bigEndian(at: offset, as: UInt64.self)
            // Equal first words, which are rare: the rest decides.
            if start <= previous, Digest(bytes, at: offset - 16) >= Digest(bytes, at: offset) {
                isAscending = false
            }
            if table.mayContain(start) { table.find(Digest(bytes, at: offset), &found) }
            previous = start
            offset += 16
        }
        last = Digest(bytes, at: bytes.count - 16)
    }
}
