import TestSupport
import Testing

@testable import WakePush

struct HPACKDecoderTests {
    private func outcome(of block: [UInt8], limit: Int = 4096) -> Result<[String], HPACKError> {
        var decoder = HPACKDecoder(limit: limit)
        var list = HeaderList()
        do {
            try decoder.decode(block.span, into: &list)
            return .success(lines(list))
        } catch {
            return .failure(error)
        }
    }

    @Test(
        "what no sender may write is refused by name",
        arguments: [
            ("80", HPACKError.badIndex), ("be", .badIndex), ("ff00", .badIndex),
            ("7f00", .badIndex), ("40", .truncated), ("04", .truncated), ("ff", .truncated),
            ("ffffffffff0f", .integerTooLarge), ("3fe21f", .badTableSize),
            ("8820", .badTableSize), ("0484ffffffff", .badHuffman), ("048100", .badHuffman),
            ("0482fe00", .badHuffman), ("04820fff", .badHuffman),
        ])
    func refused(block: String, error: HPACKError) {
        #expect(outcome(of: hex(block)) == .failure(error))
    }

    @Test("a block cut anywhere is whole fields, or refused as truncated")
    func everySplit() throws {
        for sequence in HPACKVectorTests.sequences where sequence.name != "C.5" {
            let block = hex(sequence.blocks[0].coded)
            let whole = sequence.blocks[0].lines
            for end in 0..<block.count {
                switch outcome(of: Array(block[..<end])) {
                case .success(let some): #expect(some == Array(whole[..<some.count]))
                case .failure(let error): #expect(error == .truncated)
                }
            }
        }
    }

    @Test("a sender may shrink, empty and grow its table within the limit")
    func resizes() throws {
        var decoder = HPACKDecoder()
        var list = HeaderList()
        try decoder.decode(hex("400161 0162").span, into: &list)
        #expect(decoder.tableCount == 1)
        try decoder.decode(hex("20 3fe11f").span, into: &list)
        #expect(decoder.tableCount == 0)
        try decoder.decode(hex("400161 0162 be").span, into: &list)
        #expect(lines(list) == ["a: b", "a: b"])
    }

    @Test("an entry larger than the table empties it and is no error")
    func largeEntry() throws {
        var decoder = HPACKDecoder(limit: 64)
        var list = HeaderList()
        try decoder.decode(hex("400161 0162").span, into: &list)
        #expect(decoder.tableCount == 1)
        var block: [UInt8] = []
        HPACKWriter.literal(
            name: Array("a".utf8), value: [UInt8](repeating: 0x2e, count: 64), .incremental,
            into: &block)
        try decoder.decode(block.span, into: &list)
        #expect(list.count == 1)
        #expect(decoder.tableCount == 0)
    }

    @Test("the oldest entries make room, a thousand times over")
    func evicts() throws {
        var decoder = HPACKDecoder(limit: 100)
        var list = HeaderList()
        for number in 0..<1000 {
            var block: [UInt8] = []
            HPACKWriter.literal(
                name: Array("n".utf8), value: Array(String(number).utf8), .incremental,
                into: &block)
            HPACKWriter.indexed(62, into: &block)
            try decoder.decode(block.span, into: &list)
            #expect(lines(list) == ["n: \(number)", "n: \(number)"])
            #expect(decoder.tableSize <= 100)
        }
    }

    @Test("a list that outgrows its bound is refused, however it was coded")
    func bounded() {
        var block: [UInt8] = []
        HPACKWriter.literal(
            name: Array("a".utf8), value: [UInt8](repeating: 0x2e, count: 4000), .incremental,
            into: &block)
        block += [UInt8](repeating: 0xbe, count: 20)
        #expect(outcome(of: block) == .failure(.listTooLarge))
    }

    @Test("every string survives the Huffman code, and so does every byte")
    func huffmanRoundTrip() throws {
        var random = SplitMix64(seed: 1)
        for count in 0..<600 {
            let plain = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            var coded: [UInt8] = []
            Huffman.encode(plain, into: &coded)
            #expect(coded.count == Huffman.codedCount(plain))
            var back: [UInt8] = []
            try Huffman.decode(coded.span, into: &back)
            #expect(back == plain)
        }
    }

    @Test("random fields survive writing and reading in every representation")
    func roundTrip() throws {
        var random = SplitMix64(seed: 2)
        var decoder = HPACKDecoder()
        var list = HeaderList()
        for _ in 0..<500 {
            var block: [UInt8] = []
            var expected: [String] = []
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let static_ = Int.random(in: 1...61, using: &random)
                let name =
                    Bool.random(using: &random)
                    ? StaticTable.names[static_]
                    : (0..<Int.random(in: 1...200, using: &random)).map { _ in
                        UInt8.random(in: 0x61...0x7a, using: &random)
                    }
                let value = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                    UInt8.random(in: 0x20...0x7e, using: &random)
                }
                let ways: [HPACKWriter.Indexing] = [.incremental, .without, .never]
                HPACKWriter.literal(
                    name: name, value: value, ways[Int.random(in: 0..<3, using: &random)],
                    into: &block)
                expected.append(
                    String(decoding: name, as: UTF8.self) + ": "
                        + String(decoding: value, as: UTF8.self))
            }
            try decoder.decode(block.span, into: &list)
            #expect(lines(list) == expected)
        }
    }
}
