import Testing
import WakeModel

@Suite("The event stream")
struct WakeEventTests {
    static let stream = Array(
        (": hello\n\nretry: 30000\nid: 1842\nevent: wake\ndata: 1842\n\n"
            + ":keep-alive\r\n\r\nevent:other\ndata:7\n\nevent: wake\rdata: 1843\r\rdata: 9\n\n"
            + "event: wake\ndata: x\n\n").utf8)

    @Test("wakes come out in order wherever the pieces are cut")
    func everySplit() throws {
        let expected = [1842, 1843, 0].map { WakeEvent(sequence: $0) }
        for cut in 0...Self.stream.count {
            var reader = WakeEventReader()
            var events = try reader.append(Array(Self.stream[..<cut]).span)
            events += try reader.append(Array(Self.stream[cut...]).span)
            #expect(events == expected, "cut at \(cut)")
            #expect(reader.retryMilliseconds == 30_000)
        }
    }

    @Test("what the service writes, the client reads")
    func roundTrip() throws {
        var reader = WakeEventReader()
        let event = WakeEvent(sequence: .max / 2)
        let events = try reader.append(event.encode().span)
        #expect(events == [event])
    }

    @Test("a line without end is a fault, not a buffer")
    func endless() {
        #expect(throws: WakeEventReader.Fault.self) {
            var reader = WakeEventReader()
            _ = try reader.append([UInt8](repeating: 0x61, count: 2000).span)
        }
    }
}
