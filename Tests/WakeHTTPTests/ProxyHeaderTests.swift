import Testing

@testable import WakeHTTP

@Suite("The PROXY v2 header")
struct ProxyHeaderTests {
    private func parse(_ bytes: [UInt8]) -> ProxyHeader.Step { ProxyHeader.parse(bytes.span) }

    private func source(_ step: ProxyHeader.Step) -> PeerAddress? {
        if case .complete(let header, _) = step { return header }
        return nil
    }

    @Test("gives an IPv4 source and leaves what follows")
    func version4() {
        let wire = ProxyWire.version4([192, 0, 2, 7])
        let step = parse(wire + Array("GET".utf8))
        let header = PeerAddress([192, 0, 2, 7])
        #expect(step == .complete(header, consumed: 28))
    }

    @Test("gives an IPv6 source, and a mapped one as IPv4")
    func version6() {
        let bytes: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 7, count: 12)
        #expect(source(parse(ProxyWire.version6(bytes))) == PeerAddress(bytes))
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 192, 0, 2, 7]
        #expect(
            source(parse(ProxyWire.version6(mapped))) == PeerAddress([192, 0, 2, 7]))
    }

    @Test("skips extensions")
    func extensions() {
        let block: [UInt8] = [192, 0, 2, 7, 127, 0, 0, 1, 0, 1, 0, 2, 0x04, 0, 3, 1, 2, 3]
        let header = PeerAddress([192, 0, 2, 7])
        let step = parse(ProxyWire.header(family: 0x11, block))
        #expect(step == .complete(header, consumed: 16 + block.count))
    }

    @Test("knows no source for LOCAL, for unspecified families and for Unix sockets")
    func sourceless() {
        let block = [UInt8](repeating: 1, count: 216)
        for (command, family) in [(0x20, 0x11), (0x20, 0x00), (0x21, 0x00), (0x21, 0x31)] {
            let wire = ProxyWire.header(command: UInt8(command), family: UInt8(family), block)
            #expect(parse(wire) == .complete(.none, consumed: 232))
        }
        let bare = ProxyWire.header(command: 0x20, family: 0, [])
        #expect(parse(bare) == .complete(.none, consumed: 16))
    }

    @Test("is refused when version, command, family or length are not what they must be")
    func invalid() {
        let good: [UInt8] = [192, 0, 2, 7, 127, 0, 0, 1, 0, 1, 0, 2]
        #expect(parse(ProxyWire.header(command: 0x11, family: 0x11, good)) == .invalid)
        #expect(parse(ProxyWire.header(command: 0x22, family: 0x11, good)) == .invalid)
        #expect(parse(ProxyWire.header(command: 0x31, family: 0x11, good)) == .invalid)
        #expect(parse(ProxyWire.header(family: 0x12, good)) == .invalid)
        #expect(parse(ProxyWire.header(family: 0x41, good)) == .invalid)
        #expect(parse(ProxyWire.header(family: 0x11, Array(good.dropLast()))) == .invalid)
        #expect(parse(ProxyWire.header(family: 0x21, good)) == .invalid)
        #expect(parse(ProxyWire.signature + [0x21, 0x11, 0x08, 0x01]) == .invalid)
        #expect(parse(Array("PROXY TCP4 192.0.2.7 127.0.0.1 1 2\r\n".utf8)) == .invalid)
        #expect(parse(Array("GET / HTTP/1.1\r\n".utf8)) == .invalid)
    }

    @Test("is awaited at every split point and never half understood")
    func splits() {
        let wire = ProxyWire.version6([UInt8](repeating: 9, count: 16))
        for cut in 0..<wire.count { #expect(parse(Array(wire[..<cut])) == .needMore) }
        for index in 0..<12 {
            var damaged = wire
            damaged[index] ^= 0x20
            for cut in (index + 1)...wire.count {
                #expect(parse(Array(damaged[..<cut])) == .invalid)
            }
        }
    }
}
