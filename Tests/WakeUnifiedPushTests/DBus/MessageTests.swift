import Testing
import WakeSystem

@testable import WakeUnifiedPush

struct MessageTests {
    static var call: BusMessage {
        .call(
            "org.example.A", path: "/org/example", interface: "org.example.I", member: "M",
            [.string("one"), .options([("two", .uint32(2))])])
    }

    /// Messages of every kind.
    static func every() -> [BusMessage] {
        var received = call
        received.serial = 9
        received.sender = Array(":1.7".utf8)
        return [
            call, .reply(to: received, [.bytes([1, 2, 3])]), .reply(to: received),
            .error(to: received, name: Array("org.example.Error".utf8)),
            .signal(path: "/a", interface: "org.example.I", member: "S", [.double(1)]),
        ]
    }

    @Test("messages of every kind are read back as they were, in both orders")
    func roundTrip() throws {
        for order in [BusByteOrder.little, .big] {
            for message in Self.every() {
                var expected = message
                expected.serial = 77
                let bytes = try message.encoded(serial: 77, order: order)
                #expect(try BusMessage.decoded(bytes) == expected)
            }
        }
    }

    @Test("a message's bytes are those that the specification gives")
    func bytes() throws {
        let message = BusMessage.signal(path: "/a", interface: "b.c", member: "D", [.byte(5)])
        let expected: [UInt8] =
            [0x6C, 4, 0, 1, 1, 0, 0, 0, 3, 0, 0, 0, 0x37, 0, 0, 0]
            + [1, 1, 0x6F, 0, 2, 0, 0, 0, 0x2F, 0x61, 0, 0, 0, 0, 0, 0]
            + [2, 1, 0x73, 0, 3, 0, 0, 0, 0x62, 0x2E, 0x63, 0, 0, 0, 0, 0]
            + [3, 1, 0x73, 0, 1, 0, 0, 0, 0x44, 0, 0, 0, 0, 0, 0, 0]
            + [8, 1, 0x67, 0, 1, 0x79, 0, 0] + [5]
        #expect(try message.encoded(serial: 3) == expected)
    }

    /// A message of any fields: `(code, value)`.
    private func forged(
        _ kind: UInt8, _ fields: [(UInt8, BusValue)], body: [UInt8] = [], serial: UInt32 = 1
    ) throws -> [UInt8] {
        var encoder = BusEncoder()
        for byte in [0x6C, kind, 0, 1] { try encoder.append(.byte(byte)) }
        try encoder.append(.uint32(UInt32(body.count)))
        try encoder.append(.uint32(serial))
        try encoder.append(
            .array(of: "(yv)", fields.map { .structure([.byte($0.0), .variant($0.1)]) }))
        encoder.append(body: body)
        return encoder.bytes
    }

    private static let path: (UInt8, BusValue) = (1, .objectPath(Array("/a".utf8)))
    private static let interface: (UInt8, BusValue) = (2, .string("a.b"))
    private static let member: (UInt8, BusValue) = (3, .string("M"))
    private static let errorName: (UInt8, BusValue) = (4, .string("a.E"))
    private static let replySerial: (UInt8, BusValue) = (5, .uint32(7))

    @Test("every kind has the fields it must have, or is refused")
    func required() throws {
        let needs: [(UInt8, [(UInt8, BusValue)])] = [
            (1, [Self.path, Self.member]), (2, [Self.replySerial]),
            (3, [Self.errorName, Self.replySerial]), (4, [Self.path, Self.interface, Self.member]),
        ]
        for (kind, fields) in needs {
            #expect(try BusMessage.decoded(forged(kind, fields)) != nil)
            for index in fields.indices {
                var rest = fields
                rest.remove(at: index)
                #expect(throws: BusError.malformed(.header)) {
                    try BusMessage.decoded(forged(kind, rest))
                }
            }
        }
    }

    @Test("unknown fields, flags and kinds are ignored")
    func unknown() throws {
        let fields = [(200, .structure([.byte(1)])), Self.path, Self.member, (10, .byte(1))]
        #expect(try BusMessage.decoded(forged(1, fields))?.member == [0x4D])
        #expect(try BusMessage.decoded(forged(5, [])) == nil)
        #expect(try BusMessage.decoded(forged(255, [(200, .byte(1))])) == nil)
        var flagged = try forged(1, [Self.path, Self.member])
        flagged[2] = 0xFF
        #expect(try BusMessage.decoded(flagged)?.flags.contains(.noReplyExpected) == true)
    }

    @Test("fields of wrong types, twice, or with bad names are refused")
    func badFields() throws {
        let table: [([(UInt8, BusValue)], BusProblem)] = [
            ([Self.path, Self.path, Self.member], .header),
            ([(1, .string("/a")), Self.member], .header),
            ([Self.path, (3, .string("a.b"))], .name), ([Self.path, (3, .string(""))], .name),
            ([Self.path, Self.member, (2, .string("a"))], .name),
            ([Self.path, Self.member, (7, .string("nobody"))], .name),
            ([Self.path, Self.member, (6, .string(""))], .name),
            ([Self.path, Self.member, (5, .uint32(0))], .serial),
            ([Self.path, Self.member, (5, .int32(1))], .header),
            ([Self.path, Self.member, (9, .uint32(1))], .descriptors),
            ([Self.path, Self.member, (0, .byte(1))], .header),
            ([(1, .objectPath(Array("/org/freedesktop/DBus/Local".utf8))), Self.member], .header),
            ([Self.path, Self.member, (2, .string("org.freedesktop.DBus.Local"))], .header),
        ]
        for (fields, problem) in table {
            #expect(throws: BusError.malformed(problem), "\(fields.map(\.0))") {
                try BusMessage.decoded(forged(1, fields))
            }
        }
    }

    @Test("a body is exactly what its signature says")
    func body() throws {
        let fields = [Self.path, Self.member]
        #expect(throws: BusError.malformed(.header)) {
            try BusMessage.decoded(forged(1, fields, body: [1]))
        }
        let typed = fields + [(8, .signature([0x79]))]
        #expect(try BusMessage.decoded(forged(1, typed, body: [1]))?.body == [.byte(1)])
        #expect(throws: BusError.malformed(.truncated)) {
            try BusMessage.decoded(forged(1, typed))
        }
        #expect(throws: BusError.malformed(.excess)) {
            try BusMessage.decoded(forged(1, typed, body: [1, 2]))
        }
    }

    @Test("a preamble that is none is refused, each byte for its reason")
    func preamble() throws {
        let good = try Self.call.encoded(serial: 1)
        let table: [(Int, [UInt8], BusProblem)] = [
            (0, [0x4C], .byteOrder), (1, [0], .header), (3, [2], .version), (3, [0], .version),
            (8, [0, 0, 0, 0], .serial), (4, [0, 0, 0, 0x09], .messageLength),
            (12, [1, 0, 0, 4], .arrayLength),
        ]
        for (place, bytes, problem) in table {
            var bad = good
            bad.replaceSubrange(place..<(place + bytes.count), with: bytes)
            #expect(throws: BusError.malformed(problem), "\(place)") {
                try BusMessage.decoded(bad)
            }
        }
        #expect(throws: BusError.malformed(.truncated)) { try BusMessage.decoded([0x6C]) }
        #expect(throws: BusError.malformed(.excess)) { try BusMessage.decoded(good + [0]) }
        #expect(throws: BusError.malformed(.serial)) { try Self.call.encoded(serial: 0) }
    }

    @Test("messages with names that are none are not written")
    func unsendable() {
        for member in ["", "a.b", "1"] {
            let message = BusMessage.call("a.b", path: "/", interface: "a.b", member: member)
            #expect(throws: BusError.malformed(.name)) { try message.encoded(serial: 1) }
        }
        let nowhere = BusMessage.call("nowhere", path: "/", interface: "a.b", member: "M")
        #expect(throws: BusError.malformed(.name)) { try nowhere.encoded(serial: 1) }
        let path = BusMessage.call("a.b", path: "", interface: "a.b", member: "M")
        #expect(throws: BusError.malformed(.objectPath)) { try path.encoded(serial: 1) }
        var deep = Self.call
        deep.body = (0..<300).map { _ in .byte(1) }
        #expect(throws: BusError.malformed(.signature)) { try deep.encoded(serial: 1) }
    }
}
