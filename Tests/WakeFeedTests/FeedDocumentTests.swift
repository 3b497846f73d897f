import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

/// `Policy/FEED.md`, from which others implement the format, beside the code.
@Suite("The feed's document")
struct FeedDocumentTests {
    private struct Field: Equatable {
        let name: String
        let offset: Int
        let bytes: Int
    }

    /// The cells of a table's rows below the heading.
    private static func rows(below heading: String) throws -> [[String]] {
        let path = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let bytes = try Files.read("/" + path + "/Policy/FEED.md", limit: 1 << 20)
        let lines = String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let start = try #require(lines.firstIndex { $0.hasPrefix("## ") && $0.hasSuffix(heading) })
        return lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }
            .filter { $0.hasPrefix("| ") }
            .dropFirst()
            .map { line in
                line.split(separator: "|").map {
                    $0.split(separator: " ").joined(separator: " ")
                }
            }
    }

    private static func fields(below heading: String) throws -> [Field] {
        try rows(below: heading).map { row in
            Field(name: row[2], offset: number(row[0]), bytes: number(row[1]))
        }
    }

    /// A number as in `256 + 8 × n`, where n is of a head that names as many batches as it can.
    private static func number(_ text: String) -> Int {
        text.replacing("n", with: "\(FeedLimits.retainedBatches)").split(separator: " + ")
            .map { $0.split(separator: " × ").compactMap { Int($0) }.reduce(1, *) }.reduce(0, +)
    }

    /// Expects the fields to fill the record, each with its contents.
    private func expect(_ fields: [Field], in record: [UInt8], contents: [String: [UInt8]]) {
        var end = 0
        for field in fields {
            #expect(field.offset == end, "\(field.name)")
            end = field.offset + field.bytes
            guard end <= record.count else { break }
            #expect(Array(record[field.offset..<end]) == contents[field.name], "\(field.name)")
        }
        #expect(end == record.count)
        #expect(fields.count == contents.count)
    }

    private static func little(_ value: some FixedWidthInteger & UnsignedInteger) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: value)
        return bytes
    }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    private static func hash(_ seed: UInt8) -> HeaderHash {
        let bytes = [UInt8](repeating: seed, count: 32)
        return HeaderHash(bytes.span)
    }

    private static func signature(
        _ record: [UInt8], _ domain: StaticString, _ key: SigningKey
    ) -> [UInt8] {
        let message = domain.bytes + record.dropLast(64)
        return key.sign(message.span)
    }

    @Test("a head is laid out as in the document")
    func headLayout() throws {
        let seed = Self.hash(1).bytes
        let key = SigningKey(seed: seed.span)
        let feedKey = FeedKey(key.verifyingKey)
        let suffixes =
            (1..<448).map { number in
                let bytes = Self.little(UInt64(number) << 32 | 7)
                return BatchSuffix(bytes.span)
            } + [Self.hash(3).suffix]
        var settings = FeedSettings(
            pollSeconds: 11, spreadSeconds: 12, flags: .retired, pauseSeconds: 13,
            minimumClientVersion: 14, cacheSeconds: 15)
        let gatewayKeys = [Self.hash(8).bytes, Self.hash(9).bytes]
        settings.gatewayKeys = try #require(GatewayKeyHashes(gatewayKeys))
        let head = FeedHead(
            feedID: feedKey.feedID, sequence: 460, firstSequence: 13, issued: 1_800_000_060,
            expires: 1_800_604_860, headerHash: Self.hash(3), retainedBytes: 1 << 40 | 5,
            settings: settings, suffixes: suffixes)
        let record = head.encoded(signedWith: key)
        #expect(record.count == FeedLimits.headBytes)
        expect(
            try Self.fields(below: "Head"), in: record,
            contents: [
                "magic": Array("WAKEHD02".utf8), "feedID": feedKey.feedID.bytes,
                "sequence": Self.little(UInt64(460)), "firstSequence": Self.little(UInt64(13)),
                "issued": Self.little(UInt64(1_800_000_060)),
                "expires": Self.little(UInt64(1_800_604_860)),
                "headerHash": Self.hash(3).bytes, "retainedBytes": Self.little(UInt64(1 << 40 | 5)),
                "pollSeconds": Self.little(UInt32(11)), "spreadSeconds": Self.little(UInt32(12)),
                "flags": Self.little(UInt32(2)), "pauseSeconds": Self.little(UInt32(13)),
                "minimumClientVersion": Self.little(UInt32(14)),
                "cacheSeconds": Self.little(UInt32(15)),
                "gatewayKey": gatewayKeys[0], "formerGatewayKey": gatewayKeys[1],
                "reserved": Self.zeros(72), "suffixes": suffixes.flatMap(\.bytes),
                "keyID": Self.little(feedKey.keyID),
                "signature": Self.signature(record, "wake-feed/head/2\n", key),
            ])
        #expect(try FeedHead(signed: record.span) == head)
    }

    @Test("a batch's header is laid out as in the document")
    func headerLayout() throws {
        let seed = Self.hash(1).bytes
        let key = SigningKey(seed: seed.span)
        let feedKey = FeedKey(key.verifyingKey)
        let salt = try #require(BatchSalt([UInt8](1...16)))
        let header = BatchHeader(
            feedID: feedKey.feedID, sequence: 460, issued: 1_800_000_060, count: 65_536,
            budget: try #require(FalseMatchBudget(bits: 41)), kind: .notes, noteBytes: 300,
            salt: salt, previous: Self.hash(4),
            payloadHash: Self.hash(5).bytes, payloadBytes: 0x0102_0304)
        let record = header.encoded(signedWith: key)
        #expect(record.count == FeedLimits.headerBytes)
        expect(
            try Self.fields(below: "Batch"), in: record,
            contents: [
                "magic": Array("WAKEBT01".utf8), "feedID": feedKey.feedID.bytes,
                "sequence": Self.little(UInt64(460)), "issued": Self.little(UInt64(1_800_000_060)),
                "count": Self.little(UInt32(65_536)), "bits": [41], "kind": [1],
                "noteBytes": Self.little(UInt16(300)), "salt": salt.bytes,
                "previous": Self.hash(4).bytes, "payloadHash": Self.hash(5).bytes,
                "payloadBytes": Self.little(UInt64(0x0102_0304)), "reserved": Self.zeros(48),
                "keyID": Self.little(feedKey.keyID),
                "signature": Self.signature(record, "wake-feed/batch/1\n", key),
            ])
        #expect(try BatchHeader(signed: record.span) == header)
    }

    @Test("a record of a key is laid out as in the document")
    func keyLayout() throws {
        let keys = [1, 2].map { SigningKey(seed: [UInt8](repeating: $0, count: 32).span) }
        let (old, new) = (FeedKey(keys[0].verifyingKey), FeedKey(keys[1].verifyingKey))
        let first = KeyChain.file(first: keys[0])
        let file = try KeyChain(first.span)
            .file(first, adding: keys[1], after: keys[0], from: 460)
        #expect(file.count == FeedLimits.keysBytes)
        let record = Array(file[256..<512])
        expect(
            try Self.fields(below: "Keys"), in: record,
            contents: [
                "magic": Array("WAKEKY01".utf8), "feedID": old.feedID.bytes,
                "from": Self.little(UInt64(460)), "before": old.bytes, "key": new.bytes,
                "reserved": Self.zeros(16), "beforeID": Self.little(old.keyID),
                "consent": Self.signature(
                    Array(record[..<184]), "wake-feed/succession/1\n", keys[0]),
                "keyID": Self.little(new.keyID),
                "acceptance": Self.signature(record, "wake-feed/acceptance/1\n", keys[1]),
            ])
    }

    @Test("the flags are those of the document")
    func flags() throws {
        let flags = try Self.rows(below: "Directives").map { "\($0[1]) \($0[0])" }
        #expect(
            flags == [
                "paused \(FeedFlags.paused.rawValue)", "retired \(FeedFlags.retired.rawValue)",
                "noRegistration \(FeedFlags.noRegistration.rawValue)",
            ])
    }

    @Test("the limits of the document are those of the code")
    func limits() throws {
        let limits = try Self.rows(below: "Limits").map { "\($0[0]) \($0[1])" }
        #expect(
            limits == [
                "headBytes \(FeedLimits.headBytes)",
                "headFileBytes \(FeedLimits.headFileBytes)",
                "headerBytes \(FeedLimits.headerBytes)",
                "payloadBytes \(FeedLimits.payloadBytes)",
                "retainedBatches \(FeedLimits.retainedBatches)",
                "retainedSeconds \(FeedLimits.retainedSeconds)",
                "digestMultiple \(FeedLimits.digestMultiple)",
                "falseMatchBits \(FeedLimits.falseMatchBits.lowerBound) "
                    + "to \(FeedLimits.falseMatchBits.upperBound)",
                "noteOverheadBytes \(FeedLimits.noteOverheadBytes)",
                "clockToleranceSeconds \(FeedLimits.clockToleranceSeconds)",
                "staleEdgeAttempts \(FeedLimits.staleEdgeAttempts)",
                "keysBytes \(FeedLimits.keysBytes)", "keys \(FeedLimits.keys)",
                "proofBytes \(FeedLimits.proofBytes)",
            ])
    }

    @Test("every error code of the document exists, and the reverse")
    func errors() throws {
        var named: Set<String> = []
        for row in try Self.rows(below: "Verification") {
            for code in (row.last ?? "").split(separator: "`") where !code.contains(" ") {
                named.insert(String(code))
            }
        }
        named.remove("error")
        let heads = [
            "reservedBytes": HeadFault.reservedBytes, "range": .range, "table": .table,
        ]
        let batches = [
            "reservedBytes": BatchFault.reservedBytes, "shape": .shape, "sequence": .sequence,
            "size": .size, "payloadHash": .payloadHash, "code": .code,
        ]
        var known: Set<String> = [
            "truncated", "tooLarge", "badSignature", "wrongFeed", "rollback", "fork",
            "malformedKeys",
        ]
        for name in heads.keys { known.insert("malformedHead(\(name))") }
        for name in batches.keys { known.insert("corruptBatch(\(name))") }
        #expect(named == known)
        for (name, fault) in heads { #expect("\(fault)" == name) }
        for (name, fault) in batches { #expect("\(fault)" == name) }
    }

    @Test("the vectors the document names are there")
    func vectors() throws {
        let folder = (Files.parent(of: #filePath) ?? ".") + "/Vectors/"
        let names = try Self.rows(below: "Vectors").map {
            $0[0].replacing("`", with: "")
        }
        #expect(names.count == 12)
        for name in names { #expect(Files.exists(folder + name), "\(name)") }
        #expect(try Files.names(in: folder + "b").count == 2)
    }
}

/// The worked proof of section 15.
extension FeedDocumentTests {
    @Test("the worked proof has the numbers of its vector")
    func proof() throws {
        let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
        let file = try Files.read("/\(folder)/Vectors/pasts/proof/7/head", limit: 1 << 20)
        let proof = try #require(LogProof(Array(file[344...])))
        let leaf = MerkleTree.leaf(file.span.extracting(0..<344))
        let tree = proof.checkpoint.checkpoint
        #expect(proof.includes(leaf) && proof.index == 7 && tree.size == 8)
        let history = try #require(proof.extra.flatMap { LogHistory($0, size: 8) })
        #expect(
            history.contains(size: 4, root: proof.hashes[2], newest: tree.root) == .contained)
        let text = try Self.rows(below: "The log of heads").flatMap(\.self)
        for hash in [leaf] + proof.hashes + [tree.root] {
            let digits = String(decoding: Hex.encode(hash.bytes.span), as: UTF8.self)
            #expect(text.contains("`\(digits)`"))
        }
        #expect(text.contains("`\(String(decoding: tree.origin, as: UTF8.self))`"))
    }
}
