import TestSupport
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

/// A feed's batch: one encoding of its header, and one code of its digests; of its payload the same
/// is found whatever the cuts, and what a plain search finds.
enum BatchProperty {
    private static let signing = SigningKey(seed: [UInt8](repeating: 7, count: 32).span)
    private static let fields = FeedLimits.headerBytes - 72
    /// Larger payloads are checked by their size alone.
    private static let longest = 60_000
    private static let secrets = (0..<6).compactMap { index in
        LocalSecret(id: "\(index)", bytes: [UInt8](repeating: UInt8(index), count: 16).span)
    }

    /// - Parameter input: options (1: the hash is right, 2: the size is the code's own), a byte
    ///   that says how the payload is cut, the fields of a header, and changes of a good payload: a
    ///   place, 2 bytes, and a byte.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        guard input.count >= 2 + fields else { return false }
        var bytes = Array(input[2..<2 + fields]) + [UInt8](repeating: 0, count: 72)
        bytes.put(BatchHeader.layout.magic.bytes, at: 0)
        guard let header = try? BatchHeader(signed: bytes.span) else { return false }
        do throws(FeedError) { try header.checkSize() } catch { return false }
        // Signing is slow: one in four is enough.
        if input[1] % 4 == 0 {
            let again = header.encoded(signedWith: signing)
            try require(again[..<fields].elementsEqual(bytes[..<fields]), "a header of two forms")
        }
        let (count, bits) = (header.count, header.budget.bits)
        try require(
            (count * (bits + 1)...count * (bits + 2)).contains(header.codeBytes * 8)
                && header.payloadBytes <= FeedLimits.payloadBytes, "a payload of another size")
        guard header.payloadBytes <= longest else { return true }
        let payload = payload(
            header, isFitting: input[0] & 2 == 0, changes: input[(2 + fields)...])
        bytes.put(littleEndian: UInt64(payload.count), at: 128)
        if input[0] & 1 == 1 {
            bytes.put(Blake2b.hash(payload.span), at: 96)
        }
        guard let hashed = try? BatchHeader(signed: bytes.span) else { return false }
        return try checkPayload(payload, hashed, cuts: input[1])
    }

    /// Digests, of which some are local, and notes.
    /// - Parameter isFitting: the code is cut, or filled with zeros, to the size in the header.
    private static func payload(
        _ header: BatchHeader, isFitting: Bool, changes: ArraySlice<UInt8>
    ) -> [UInt8] {
        let range = header.range
        var values = Set(
            secrets.map { range.value(of: Digest(of: $0.bytes, salt: header.salt)) })
        var random = SplitMix64(seed: 1)
        while values.count < header.count {
            values.insert(range.value(of: Digest(high: random.next(), low: random.next())))
        }
        var payload: [UInt8] = []
        RiceCode.append(values.sorted(), of: range, to: &payload)
        if isFitting {
            let missing = max(0, header.codeBytes - payload.count)
            payload += [UInt8](repeating: 0, count: missing)
            payload.removeLast(payload.count - header.codeBytes)
        }
        payload += [UInt8](repeating: 9, count: header.count * header.noteBytes)
        var rest = changes
        while rest.count >= 3 {
            let place = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            payload[place % payload.count] = rest[rest.startIndex + 2]
            rest = rest.dropFirst(3)
        }
        return payload
    }

    /// Reads a code bit by bit, as the document has it; nil for what is none.
    private static func values(_ code: ArraySlice<UInt8>, _ range: DigestRange) -> [UInt64]? {
        var bits = code.lazy.flatMap { byte in (0..<8).map { byte >> UInt8($0) & 1 } }
            .makeIterator()
        var values: [UInt64] = []
        var next: UInt128 = 0
        while values.count < range.count {
            var zeros = [UInt128](repeating: 0, count: 8)
            for item in zeros.indices {
                while true {
                    guard let bit = bits.next() else { return nil }
                    if bit == 1 { break }
                    zeros[item] += 1
                }
            }
            for item in zeros.indices {
                var value = next + zeros[item] << UInt128(range.budget.bits)
                for place in 0..<UInt128(range.budget.bits) {
                    guard let bit = bits.next() else { return nil }
                    value += UInt128(bit) << place
                }
                guard value <= UInt128(range.last) else { return nil }
                values.append(UInt64(value))
                next = value + 1
            }
        }
        var fill = 0
        while let bit = bits.next() {
            fill += 1
            if bit != 0 || fill > 7 { return nil }
        }
        return values
    }

    private struct Outcome: Equatable {
        var secrets: [[Int]] = []
        var notes: [[UInt8]?] = []
        var error: FeedError?
    }

    private static func read(
        _ payload: [UInt8], _ header: BatchHeader, cuts: UInt8?
    ) -> Outcome {
        let matcher = LocalSecretSet(secrets).matcher(for: header)
        var reader = PayloadReader(header: header, matcher: matcher)
        var random = cuts.map { SplitMix64(seed: UInt64($0)) }
        var position = 0
        do throws(FeedError) {
            while position < payload.count {
                var count = payload.count - position
                if random != nil { count = min(count, Int((random?.next() ?? 0) % 5000)) }
                try reader.feed(payload.span.extracting(position..<position + count))
                position += count
            }
            let hits = try reader.finish()
            return Outcome(secrets: hits.map(\.secrets), notes: hits.map(\.sealedNote))
        } catch { return Outcome(error: error) }
    }

    private static func checkPayload(
        _ payload: [UInt8], _ header: BatchHeader, cuts: UInt8
    ) throws(Violation) -> Bool {
        let whole = read(payload, header, cuts: nil)
        try require(read(payload, header, cuts: cuts) == whole, "a payload depends on cuts")
        try require(
            read(Array(payload.dropLast()), header, cuts: nil).error == .truncated, "a short one")
        try require(read(payload + [0], header, cuts: nil).error == .tooLarge, "a long one")
        let values = values(payload[..<header.codeBytes], header.range)
        let isHashed = Blake2b.hash(payload.span) == header.payloadHash
        let expected: FeedError? =
            !isHashed ? .corruptBatch(.payloadHash) : values == nil ? .corruptBatch(.code) : nil
        try require(whole.error == expected, "another verdict")
        guard expected == nil, let values else { return false }
        var code: [UInt8] = []
        RiceCode.append(values, of: header.range, to: &code)
        try require(code.elementsEqual(payload[..<header.codeBytes]), "a code of two forms")
        let local = secrets.map {
            header.range.value(of: Digest(of: $0.bytes, salt: header.salt))
        }
        var plain = Outcome()
        for (index, value) in values.enumerated() {
            let found = local.indices.filter { local[$0] == value }
            guard !found.isEmpty else { continue }
            plain.secrets.append(found)
            let start = header.codeBytes + index * header.noteBytes
            plain.notes.append(
                header.kind == .notes ? Array(payload[start..<start + header.noteBytes]) : nil)
        }
        try require(whole == plain, "a plain search finds something else")
        return true
    }
}
