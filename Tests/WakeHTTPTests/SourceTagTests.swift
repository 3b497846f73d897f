import Synchronization
import Testing

@testable import WakeHTTP

@Suite("Source tags")
struct SourceTagTests {
    private func address(_ family: PeerAddress.Family, _ bytes: [UInt8]) -> PeerAddress {
        var padded = InlineArray<16, UInt8>(repeating: 0)
        for (index, byte) in bytes.enumerated() { padded[index] = byte }
        return PeerAddress(family: family, bytes: padded)
    }

    private func version6(_ lead: [UInt8]) -> PeerAddress {
        address(.version6, lead + [UInt8](repeating: 0xAA, count: 16 - lead.count))
    }

    @Test("the hash is SipHash-2-4 as its authors published it")
    func vector() {
        // The reference vector for the message 00…07 under the key 00…0f.
        let hash = SipHash(key: 0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
        #expect(hash.hash(of: 0x0706_0504_0302_0100) == 0x93F5_F579_9A93_2462)
    }

    @Test("are equal within a /24 or a /56 and differ outside")
    func prefixes() {
        var key = SourceKey(life: 100, now: 0)
        let base = key.tag(of: address(.version4, [192, 0, 2, 7]), now: 0)
        #expect(base != nil)
        #expect(key.tag(of: address(.version4, [192, 0, 2, 200]), now: 0) == base)
        #expect(key.tag(of: address(.version4, [192, 0, 3, 7]), now: 0) != base)
        let lead: [UInt8] = [0x20, 0x01, 0x0D, 0xB8, 0, 0, 1]
        let six = key.tag(of: version6(lead + [1]), now: 0)
        #expect(key.tag(of: version6(lead + [2, 3]), now: 0) == six)
        #expect(key.tag(of: version6([0x20, 0x01, 0x0D, 0xB8, 0, 0, 2, 1]), now: 0) != six)
        #expect(six != base)
        #expect(key.tag(of: .none, now: 0) == nil)
    }

    @Test("mean nothing after the key's time, and nothing under another server's key")
    func rotation() {
        var key = SourceKey(life: 100, now: 0)
        let client = address(.version4, [192, 0, 2, 7])
        let first = key.tag(of: client, now: 0)
        #expect(key.tag(of: client, now: 99) == first)
        let second = key.tag(of: client, now: 100)
        #expect(second != first)
        #expect(key.tag(of: client, now: 199) == second)
        var other = SourceKey(life: 100, now: 0)
        #expect(other.tag(of: client, now: 0) != first)
    }

    @Test("know loopback addresses of every form")
    func loopback() {
        #expect(address(.version4, [127, 9, 9, 9]).isLoopback)
        #expect(!address(.version4, [126, 0, 0, 1]).isLoopback)
        #expect(address(.version6, [UInt8](repeating: 0, count: 15) + [1]).isLoopback)
        #expect(!address(.version6, [UInt8](repeating: 0, count: 15) + [2]).isLoopback)
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 127, 0, 0, 1]
        #expect(address(.version6, mapped).isLoopback)
        #expect(!PeerAddress.none.isLoopback)
    }

    @Test("have no text")
    func redacted() {
        var key = SourceKey(life: 100, now: 0)
        guard let tag = key.tag(of: address(.version4, [192, 0, 2, 7]), now: 0) else {
            Issue.record("an address has a tag")
            return
        }
        var dumped = ""
        dump(tag, to: &dumped)
        #expect("\(tag)" == "SourceTag")
        #expect(!dumped.contains { $0.isNumber })
    }
}
