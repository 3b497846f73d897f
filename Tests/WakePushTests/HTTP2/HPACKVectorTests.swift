import Testing

@testable import WakePush

/// RFC 7541 appendix C, byte for byte.
struct HPACKVectorTests {
    struct Sequence: Sendable, CustomTestStringConvertible {
        let name: String
        let limit: Int
        let blocks: [(coded: String, lines: [String], tableSize: Int)]
        var testDescription: String { name }
    }

    @Test(
        "integers are read and written as in C.1",
        arguments: [(10, 5, "0a"), (1337, 5, "1f9a0a"), (42, 8, "2a")])
    func integers(value: Int, prefix: Int, coded: String) throws {
        var bytes: [UInt8] = []
        HPACKInteger.write(value, prefix: prefix, into: &bytes)
        #expect(bytes == hex(coded))
        var position = 0
        #expect(try HPACKInteger.read(bytes.span, at: &position, prefix: prefix) == value)
        #expect(position == bytes.count)
    }

    @Test("sequences of blocks decode as in C.2 to C.6", arguments: sequences)
    func decodes(sequence: Sequence) throws {
        var decoder = HPACKDecoder(limit: sequence.limit)
        var list = HeaderList()
        for block in sequence.blocks {
            try decoder.decode(hex(block.coded).span, into: &list)
            #expect(lines(list) == block.lines)
            #expect(decoder.tableSize == block.tableSize)
        }
    }

    @Test("a field that must never be indexed is written and read so")
    func sensitive() throws {
        var decoder = HPACKDecoder()
        var list = HeaderList()
        try decoder.decode(hex("10 0870617373776f7264 06736563726574").span, into: &list)
        #expect(lines(list) == ["password: secret"])
        var block: [UInt8] = []
        HPACKWriter.literal(
            name: Array("password".utf8), value: Array("secret".utf8), .never, into: &block)
        #expect(block.first == 0x10)
        #expect(decoder.tableCount == 0)
    }

    @Test("fields are written as in C.2 and C.4")
    func writes() {
        var block: [UInt8] = []
        HPACKWriter.indexed(2, into: &block)
        HPACKWriter.indexed(6, into: &block)
        HPACKWriter.indexed(4, into: &block)
        HPACKWriter.literal(
            name: Array(":authority".utf8), value: Array("www.example.com".utf8), .incremental,
            into: &block)
        #expect(block == hex("828684418cf1e3c2e5f23a6ba0ab90f4ff"))
        block = []
        HPACKWriter.literal(
            name: Array("custom-key".utf8), value: Array("custom-value".utf8), .incremental,
            into: &block)
        #expect(block == hex("408825a849e95ba97d7f8925a849e95bb8e8b4bf"))
    }

    static let requests: [([String], Int)] = [
        (
            [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
            57
        ),
        (
            [
                ":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com",
                "cache-control: no-cache",
            ], 110
        ),
        (
            [
                ":method: GET", ":scheme: https", ":path: /index.html",
                ":authority: www.example.com", "custom-key: custom-value",
            ], 164
        ),
    ]

    static let responses: [([String], Int)] = [
        (
            [
                ":status: 302", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:21 GMT",
                "location: https://www.example.com",
            ], 222
        ),
        (
            [
                ":status: 307", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:21 GMT",
                "location: https://www.example.com",
            ], 222
        ),
        (
            [
                ":status: 200", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:22 GMT",
                "location: https://www.example.com", "content-encoding: gzip",
                "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            ], 215
        ),
    ]

    static func sequence(
        _ name: String, _ limit: Int, _ coded: [String], _ expected: [([String], Int)]
    ) -> Sequence {
        Sequence(
            name: name, limit: limit, blocks: zip(coded, expected).map { ($0, $1.0, $1.1) })
    }

    static let sequences: [Sequence] = [
        sequence(
            "C.2.1", 4096, ["400a637573746f6d2d6b65790d637573746f6d2d686561646572"],
            [(["custom-key: custom-header"], 55)]),
        sequence("C.2.2", 4096, ["040c2f73616d706c652f70617468"], [([":path: /sample/path"], 0)]),
        sequence(
            "C.2.3", 4096, ["100870617373776f726406736563726574"], [(["password: secret"], 0)]),
        sequence("C.2.4", 4096, ["82"], [([":method: GET"], 0)]),
        sequence(
            "C.3", 4096,
            [
                "828684410f7777772e6578616d706c652e636f6d", "828684be58086e6f2d6361636865",
                "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
            ], requests),
        sequence(
            "C.4", 4096,
            [
                "828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf",
                "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
            ], requests),
        sequence(
            "C.5", 256,
            [
                "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a32"
                    + "3120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
                "4803333037c1c0bf",
                "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a6970"
                    + "7738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d6178"
                    + "2d6167653d333630303b2076657273696f6e3d31",
            ], responses),
        sequence(
            "C.6", 256,
            [
                "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad"
                    + "171863c78f0b97c8e9ae82ae43d3", "4883640effc1c0bf",
                "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2"
                    + "e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d50"
                    + "07",
            ], responses),
    ]
}

func hex(_ text: String) -> [UInt8] {
    let digits = text.utf8.filter { $0 != 0x20 }.map { digit -> UInt8 in
        digit >= 0x61 ? digit - 0x61 + 10 : digit - 0x30
    }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// The list as `name: value` lines.
func lines(_ list: HeaderList) -> [String] {
    (0..<list.count).map { index in
        String(decoding: list.name(index), as: UTF8.self) + ": "
            + String(decoding: list.value(index), as: UTF8.self)
    }
}
