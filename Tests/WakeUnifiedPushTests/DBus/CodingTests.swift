import TestSupport
import Testing
import WakeSystem

@testable import WakeUnifiedPush

struct CodingTests {
    private static func bytes(
        _ values: [BusValue], _ order: BusByteOrder = .little
    ) throws -> [UInt8] {
        var encoder = BusEncoder(order: order)
        for value in values { try encoder.append(value) }
        return encoder.bytes
    }

    private static func values(
        _ bytes: [UInt8], _ signature: BusSignature, _ order: BusByteOrder = .little
    ) throws -> [BusValue] {
        var decoder = BusDecoder(bytes, order: order)
        return try decoder.all(signature)
    }

    @Test("the specification's own examples of bytes are what is written")
    func examples() throws {
        // "Marshaling": 'foo', '+', 'bar' in big-endian; an array of one INT64.
        let text = try Self.bytes([.string("foo"), .string("+"), .string("bar")], .big)
        #expect(
            text == [0, 0, 0, 3] + Array("foo\0".utf8) + [0, 0, 0, 1] + Array("+\0".utf8) + [0, 0]
                + [0, 0, 0, 3] + Array("bar\0".utf8))
        let array = try Self.bytes([.array(of: "x", [.int64(5)])], .big)
        #expect(array == [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5])
        let little = try Self.bytes([.byte(1), .uint16(2), .uint32(3), .boolean(true)])
        #expect(little == [1, 0, 2, 0, 3, 0, 0, 0, 1, 0, 0, 0])
    }

    @Test("an empty array is padded to where its elements would begin")
    func emptyArray() throws {
        let bytes = try Self.bytes([.array(of: "t", []), .byte(9)])
        #expect(bytes == [0, 0, 0, 0, 0, 0, 0, 0, 9])
        #expect(try Self.values(bytes, "aty") == [.array(of: "t", []), .byte(9)])
        #expect(throws: BusError.malformed(.truncated)) { try Self.values([0, 0, 0, 0], "at") }
    }

    @Test("2,000 random values are read back as they were, in both orders")
    func roundTrip() throws {
        var random = SplitMix64(seed: 7)
        for _ in 0..<2000 {
            var message = BusMessage(.signal)
            message.body = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                .random(using: &random)
            }
            guard let signature = message.signature else { continue }
            for order in [BusByteOrder.little, .big] {
                let bytes = try Self.bytes(message.body, order)
                #expect(try Self.values(bytes, signature, order) == message.body)
                // Cut anywhere, it is no whole value.
                let cut = Int.random(in: 0..<bytes.count, using: &random)
                #expect(throws: BusError.self) {
                    try Self.values(Array(bytes[..<cut]), signature, order)
                }
            }
        }
    }

    @Test("bytes that are no values are refused, each for its reason")
    func malformed() {
        let table: [(BusSignature, [UInt8], BusProblem)] = [
            ("b", [2, 0, 0, 0], .boolean), ("b", [0, 0, 0, 1], .boolean),
            ("yu", [1, 7, 0, 0, 1, 0, 0, 0], .padding), ("u", [1, 2, 3], .truncated),
            ("y", [1, 2], .excess), ("s", [1, 0, 0, 0, 0x61, 1], .text),
            ("s", [1, 0, 0, 0, 0x61], .truncated), ("s", [1, 0, 0, 0, 0, 0], .text),
            ("s", [1, 0, 0, 0, 0x80, 0], .text), ("s", [255, 255, 255, 255, 0], .truncated),
            ("o", [0, 0, 0, 0, 0], .objectPath), ("o", [2, 0, 0, 0, 0x2F, 0x2F, 0], .objectPath),
            ("g", [1, 0x7A, 0], .signature), ("g", [1, 0x79, 1], .text),
            ("g", [9, 0x79], .truncated), ("v", [0, 0], .signature),
            ("v", [2, 0x79, 0x79, 0, 1, 1], .signature), ("v", [1, 0x79, 0], .truncated),
            ("v", [1, 0x7A, 0, 1], .signature), ("ay", [1, 0, 0, 4, 1], .arrayLength),
            ("ay", [2, 0, 0, 0, 1], .truncated),
            ("au", [6, 0, 0, 0, 1, 0, 0, 0, 2, 0], .truncated),
            ("au", [5, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0], .arrayLength),
            ("a(y)", [1, 0, 0, 0, 0, 0, 1, 0, 7], .padding),
            ("a{yy}", [1, 0, 0, 0, 0, 0, 0, 0, 7, 8], .arrayLength),
        ]
        for (signature, bytes, problem) in table {
            #expect(throws: BusError.malformed(problem), "\(bytes)") {
                try Self.values(bytes, signature)
            }
        }
    }

    @Test("variants in variants are refused beyond 64, on the way in and out")
    func variantDepth() throws {
        func nested(_ count: Int) -> BusValue {
            (0..<count).reduce(.byte(1)) { value, _ in .variant(value) }
        }
        let deepest = try Self.bytes([nested(64)])
        #expect(try Self.values(deepest, "v") == [nested(64)])
        #expect(throws: BusError.malformed(.depth)) { try Self.bytes([nested(65)]) }
        let tooDeep = [1, 0x76, 0] + deepest
        #expect(throws: BusError.malformed(.depth)) { try Self.values(tooDeep, "v") }
    }

    @Test("more values than we keep are too many, however small they are")
    func tooManyValues() throws {
        let count = BusLimits.values
        func array(_ count: Int) -> [UInt8] {
            var encoder = BusEncoder()
            try? encoder.append(.uint32(UInt32(count * 2)))
            return encoder.bytes + [UInt8](repeating: 0, count: count * 2)
        }
        #expect(try Self.values(array(count - 1), "aq").count == 1)
        #expect(throws: BusError.tooLarge) { try Self.values(array(count), "aq") }
    }

    @Test("what is no value is not written")
    func unsendable() {
        let table: [(BusValue, BusProblem)] = [
            (.string([0x61, 0]), .text), (.string([0xFF]), .text),
            (.objectPath(Array("a".utf8)), .objectPath), (.signature([0x7A]), .signature),
            (.structure([]), .signature), (.array(of: "s", [.byte(1)]), .type),
            (.array(of: "", []), .signature), (.array(of: "ss", []), .signature),
            (.dictionary(key: "v", value: "s", []), .signature),
            (.dictionary(key: "s", value: "s", [.init(key: .byte(1), value: .byte(1))]), .type),
            (.array(of: "(yy)", [.structure([.byte(1)])]), .type),
            (.array(of: "(y)", [.structure([.byte(1), .byte(1)])]), .type),
            (.array(of: "ay", [.array(of: "s", [])]), .type),
            (.variant(.structure([])), .signature),
        ]
        for (value, problem) in table {
            #expect(throws: BusError.malformed(problem)) { try Self.bytes([value]) }
        }
        let large = BusValue.bytes([UInt8](repeating: 1, count: BusLimits.messageBytes + 1))
        #expect(throws: BusError.tooLarge) { try Self.bytes([large]) }
    }

    @Test("nothing of a value or message is in its description")
    func redacted() throws {
        let secret = "k7Jm-secret"
        var message = BusMessage.call(
            "org.example.A", path: "/", interface: "org.example.A", member: "M",
            [.options([("token", .string(secret))])])
        message.sender = Array(":1.1".utf8)
        let address = try BusAddress("unix:path=/\(secret)")
        let things: [Any] = [
            message, message.body, message.body[0], address, BusValue.string(secret),
            BusValue.bytes(Array(secret.utf8)), BusValue.structure([.string(secret)]),
            BusEntry(key: .string(secret), value: .string(secret)),
        ]
        let numbers = Array(secret.utf8).map(String.init).joined(separator: ", ")
        for thing in things {
            var dumped = ""
            dump(thing, to: &dumped)
            for text in ["\(thing)", String(reflecting: thing), dumped] {
                #expect(!text.contains(secret) && !text.contains(numbers))
            }
        }
    }
}
