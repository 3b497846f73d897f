import Testing
import WakeModel
import WakeSodium
import WakeSystem

@testable import WakeFeed

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
            Field(
                name: row[2], offset: try #require(Int(row[0])),
                bytes: try #require(Int(row[1])))
        }
    }

    private func expect(_ fields: [Field], fill size: Int) {
        var end = 0
        for field in fields {
            #expect(field.offset == end, "\(field.name)")
            end = field.offset + field.bytes
        }
        #expect(end == size)
    }

    @Test("the document's tables are the code's constants")
    func layouts() throws {
        typealias Head = FeedHead.Offset
        let head = try Self.fields(below: "Head")
        expect(head, fill: FeedLimits.headBytes)
        let settings = [
            "pollSeconds", "spreadSeconds", "flags", "pauseSeconds", "minimumClientVersion",
            "cacheSeconds",
        ]
        var offsets = [
            "magic": 0, "feedID": Head.feedID, "sequence": Head.sequence,
            "firstSequence": Head.firstSequence, "issued": Head.issued, "expires": Head.expires,
            "headerHash": Head.headerHash, "retainedBytes": Head.retainedBytes,
            "nextKey": Head.nextKey.lowerBound, "reserved": Head.reserved.lowerBound,
            "suffixes": Head.suffixes, "reservedTail": Head.reservedTail.lowerBound,
            "keyID": Head.keyID, "signature": Head.signature,
        ]
        for (index, name) in settings.enumerated() {
            offsets[name] = Head.settings.lowerBound + 4 * index
        }
        #expect(Dictionary(uniqueKeysWithValues: head.map { ($0.name, $0.offset) }) == offsets)

        typealias Batch = BatchHeader.Offset
        let batch = try Self.fields(below: "Batch")
        expect(batch, fill: FeedLimits.headerBytes)
        #expect(
            Dictionary(uniqueKeysWithValues: batch.map { ($0.name, $0.offset) }) == [
                "magic": 0, "feedID": Batch.feedID, "sequence": Batch.sequence,
                "issued": Batch.issued, "count": Batch.count, "width": Batch.width,
                "kind": Batch.kind, "noteBytes": Batch.noteBytes, "salt": Batch.salt,
                "previous": Batch.previous, "payloadHash": Batch.payloadHash,
                "payloadBytes": Batch.payloadBytes, "reserved": Batch.reserved.lowerBound,
                "keyID": Batch.keyID, "signature": Batch.signature,
            ])
    }

    @Test("the settings stand in the order of the document")
    func settings() throws {
        let settings = FeedSettings(
            pollSeconds: 1, spreadSeconds: 2, flags: FeedFlags(rawValue: 3), pauseSeconds: 4,
            minimumClientVersion: 5, cacheSeconds: 6)
        let words = stride(from: 0, to: 24, by: 4).map {
            settings.bytes.span.littleEndian(at: $0, as: UInt32.self)
        }
        #expect(words == [1, 2, 3, 4, 5, 6])
        #expect(FeedSettings(settings.bytes.span) == settings)
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
                "headBytes \(FeedLimits.headBytes)", "headerBytes \(FeedLimits.headerBytes)",
                "payloadBytes \(FeedLimits.payloadBytes)",
                "retainedBatches \(FeedLimits.retainedBatches)",
                "retainedSeconds \(FeedLimits.retainedSeconds)",
                "digestMultiple \(FeedLimits.digestMultiple)",
                "noteOverheadBytes \(FeedLimits.noteOverheadBytes)",
                "clockToleranceSeconds \(FeedLimits.clockToleranceSeconds)",
                "staleEdgeAttempts \(FeedLimits.staleEdgeAttempts)",
                "acceptedKeys \(FeedLimits.acceptedKeys)",
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
            "nextKey": .nextKey,
        ]
        let batches = [
            "reservedBytes": BatchFault.reservedBytes, "shape": .shape, "sequence": .sequence,
            "size": .size, "payloadHash": .payloadHash, "order": .order,
        ]
        var known: Set<String> = [
            "truncated", "tooLarge", "badSignature", "wrongFeed", "rollback", "fork",
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
        #expect(names.count == 6)
        for name in names { #expect(Files.exists(folder + name), "\(name)") }
        #expect(try Files.names(in: folder + "b").count == 2)
    }
}
