import TestSupport
import WakeModel
import WakeSodium
import WakeSystem

@testable import WakeFeed

/// A feed's batch: one encoding of its header; of its payload the same is found whatever the cuts,
/// and what a plain search finds.
enum BatchProperty {
    private static let signing = SigningKey(seed: [UInt8](repeating: 7, count: 32).span)
    private static let fields = FeedLimits.headerBytes - 72
    /// Larger payloads are checked by their size alone.
    private static let longest = 60_000
    private static let secrets = (0..<6).compactMap { index in
        LocalSecret(id: "\(index)", bytes: [UInt8](repeating: UInt8(index), count: 16).span)
    }

    /// - Parameter input: options, a byte that says how the payload is cut, the fields of a header,
    ///   and changes of a good payload: a place, 2 bytes, and a byte.
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
        try require(
            header.payloadBytes == header.count * (header.width.rawValue + header.noteBytes)
                && header.payloadBytes <= FeedLimits.payloadBytes, "a payload of another size")
        guard header.payloadBytes <= longest else { return true }
        let payload = payload(header, changes: input[(2 + fields)...])
        if input[0] & 1 == 1 {
            bytes.put(Blake2b.hash(payload.span), at: 96)
        }
        guard let hashed = try? BatchHeader(signed: bytes.span) else { return false }
        return try checkPayload(payload, hashed, cuts: input[1])
    }

    /// Ascending digests, of which some are local, and notes.
    private static func payload(_ header: BatchHeader, changes: ArraySlice<UInt8>) -> [UInt8] {
        let width = header.width
        let derivation = DigestDerivation(width: width, salt: header.salt)
        var digests = secrets.map { derivation.digest(of: $0.bytes) }
        var random = SplitMix64(seed: 1)
        while digests.count < header.count {
            digests.append(Digest(random.bytes(width.rawValue).span, width: width))
        }
        var payload: [UInt8] = []
        payload.reserveCapacity(header.payloadBytes)
        for digest in digests.sorted(by: <) { digest.append(to: &payload, width: width) }
        payload += [UInt8](repeating: 9, count: header.payloadBytes - payload.count)
        var rest = changes
        while rest.count >= 3 {
            let place = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            payload[place % payload.count] = rest[rest.startIndex + 2]
            rest = rest.dropFirst(3)
        }
        return payload
    }

    private struct Outcome: Equatable {
        var secrets: [[Int]] = []
        var notes: [[UInt8]?] = []
        var error: FeedError?
    }

    private static func read(
        _ payload: [UInt8], _ header: BatchHeader, cuts: UInt8?
    ) -> Outcome {
        let matcher = Matcher(secrets: secrets, width: header.width, salt: header.salt)
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
        let digests = (0..<header.count).map {
            Digest(payload.span, at: $0 * header.width.rawValue, width: header.width)
        }
        let isAscending = zip(digests, digests.dropFirst()).allSatisfy { $0 < $1 }
        let isHashed = Blake2b.hash(payload.span) == header.payloadHash
        try require((whole.error == nil) == (isAscending && isHashed), "another verdict")
        guard whole.error == nil else { return false }
        let derivation = DigestDerivation(width: header.width, salt: header.salt)
        let local = secrets.map { derivation.digest(of: $0.bytes) }
        var plain = Outcome()
        for (index, digest) in digests.enumerated() {
            let found = local.indices.filter { local[$0] == digest }
            guard !found.isEmpty else { continue }
            plain.secrets.append(found)
            let start = header.count * header.width.rawValue + index * header.noteBytes
            plain.notes.append(
                header.kind == .notes ? Array(payload[start..<start + header.noteBytes]) : nil)
        }
        try require(whole == plain, "a plain search finds something else")
        return true
    }
}
