import Testing
import WakeSystem

@testable import WakeUnifiedPush

struct ReaderTests {
    private static func readings(
        _ pieces: [[UInt8]]
    ) throws -> [BusMessageReader.Reading] {
        var reader = BusMessageReader()
        var readings: [BusMessageReader.Reading] = []
        for piece in pieces {
            reader.feed(piece)
            while let reading = try reader.next() { readings.append(reading) }
        }
        return readings
    }

    private static func stream() throws -> (bytes: [UInt8], messages: [BusMessage]) {
        var bytes: [UInt8] = []
        var messages: [BusMessage] = []
        for (index, message) in MessageTests.every().enumerated() {
            bytes += try message.encoded(
                serial: UInt32(index + 1), order: index % 2 == 0 ? .big : .little)
            var numbered = message
            numbered.serial = UInt32(index + 1)
            messages.append(numbered)
        }
        return (bytes, messages)
    }

    private static func messages(_ readings: [BusMessageReader.Reading]) -> [BusMessage] {
        readings.compactMap { if case .message(let message, _) = $0 { message } else { nil } }
    }

    @Test("a stream is read the same at every split point, and byte by byte")
    func splits() throws {
        let (bytes, messages) = try Self.stream()
        for split in 0...bytes.count {
            let readings = try Self.readings([Array(bytes[..<split]), Array(bytes[split...])])
            #expect(Self.messages(readings) == messages)
        }
        #expect(try Self.messages(Self.readings(bytes.map { [$0] })) == messages)
    }

    /// A signal of so many bytes, which no encoder of ours would write.
    private static func large(_ count: Int, kind: UInt8 = 4) throws -> [UInt8] {
        var bytes = try BusMessage.signal(
            path: "/a", interface: "b.c", member: "D", [.bytes([])]
        ).encoded(serial: 5)
        let body = count - (bytes.count - 4)
        var length = BusEncoder()
        try length.append(.uint32(UInt32(body)))
        bytes.replaceSubrange(4..<8, with: length.bytes)
        bytes[1] = kind
        return bytes + [UInt8](repeating: 7, count: count - bytes.count)
    }

    @Test("a message of our limit is read, one beyond is skipped, and the next is read")
    func limit() throws {
        let next = try MessageTests.call.encoded(serial: 2)
        var fits = MessageTests.call
        fits.body = [.bytes([])]
        let frame = try fits.encoded(serial: 1).count
        fits.body = [.bytes(Array(repeating: 1, count: BusLimits.messageBytes - frame))]
        let whole = try fits.encoded(serial: 1)
        #expect(whole.count == BusLimits.messageBytes)
        #expect(try Self.messages(Self.readings([whole + next])).count == 2)
        fits.body = [.bytes(Array(repeating: 1, count: BusLimits.messageBytes - frame + 1))]
        #expect(throws: BusError.tooLarge) { try fits.encoded(serial: 1) }

        for piece in [16, 1000, 70_001, 5_000_000] {
            let bytes = try Self.large(BusLimits.messageBytes + 1) + next
            var pieces: [[UInt8]] = []
            for start in stride(from: 0, to: bytes.count, by: piece) {
                pieces.append(Array(bytes[start..<min(bytes.count, start + piece)]))
            }
            let readings = try Self.readings(pieces)
            guard case .tooLarge(let head?) = readings.first else {
                Issue.record("not too large")
                continue
            }
            #expect(head.member == [0x44] && head.serial == 5 && head.body.isEmpty)
            #expect(Self.messages(readings).map(\.serial) == [2])
        }
        // Of a kind that is not known, not even that is said.
        let unknown = try Self.large(BusLimits.messageBytes + 1, kind: 9)
        #expect(try Self.readings([unknown + next]).count == 1)
    }

    @Test("a header beyond our limit is skipped with its message")
    func largeHeader() throws {
        var encoder = BusEncoder()
        for byte: UInt8 in [0x6C, 1, 0, 1] { try encoder.append(.byte(byte)) }
        try encoder.append(.uint32(8))
        try encoder.append(.uint32(1))
        let fields = BusLimits.headerBytes + 8
        try encoder.append(.uint32(UInt32(fields)))
        let bytes = encoder.bytes + [UInt8](repeating: 1, count: fields + 8)
        let next = try MessageTests.call.encoded(serial: 2)
        let readings = try Self.readings([bytes + next])
        #expect(readings.first == .tooLarge(nil))
        #expect(Self.messages(readings).map(\.serial) == [2])
    }

    @Test("too many values skip their message, and end nothing")
    func manyValues() throws {
        let count = BusLimits.values * 2
        var message = BusMessage.signal(path: "/a", interface: "b.c", member: "D", [.bytes([])])
        message.body = [.bytes([UInt8](repeating: 0, count: count))]
        var bytes = try message.encoded(serial: 5)
        // An array of so many UINT16 in place of one of twice as many bytes.
        let place = try #require(bytes.firstRange(of: [0x61, 0x79, 0]))
        bytes.replaceSubrange(place, with: [0x61, 0x71, 0])
        let readings = try Self.readings([bytes + MessageTests.call.encoded(serial: 2)])
        guard case .tooLarge(let head?) = readings.first else {
            Issue.record("not too large")
            return
        }
        #expect(head.serial == 5)
        #expect(Self.messages(readings).map(\.serial) == [2])
    }

    @Test("bytes that are no message end the stream, after the messages before them")
    func malformed() throws {
        let (bytes, messages) = try Self.stream()
        var reader = BusMessageReader()
        reader.feed(bytes + Array("HTTP/1.1 400 Bad Request".utf8))
        for message in messages {
            let reading = try reader.next()
            #expect(reading.map { Self.messages([$0]) } == [message])
        }
        #expect(throws: BusError.malformed(.byteOrder)) { try reader.next() }
    }
}
