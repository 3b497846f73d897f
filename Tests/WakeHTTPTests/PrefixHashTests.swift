import Synchronization
import Testing

@testable import WakeHTTP

@Suite("Hashes of address prefixes")
struct PrefixHashTests {
    private func version6(_ lead: [UInt8]) -> PeerAddress {
        PeerAddress(lead + [UInt8](repeating: 0xAA, count: 16 - lead.count))
    }

    @Test("are equal within a /24 or a /56 and differ outside")
    func prefixes() {
        var hasher = PrefixHasher(life: 100, now: 0)
        let base = hasher.hash(of: PeerAddress([192, 0, 2, 7]), now: 0)
        #expect(base != nil)
        #expect(hasher.hash(of: PeerAddress([192, 0, 2, 200]), now: 0) == base)
        #expect(hasher.hash(of: PeerAddress([192, 0, 3, 7]), now: 0) != base)
        let lead: [UInt8] = [0x20, 0x01, 0x0D, 0xB8, 0, 0, 1]
        let six = hasher.hash(of: version6(lead + [1]), now: 0)
        #expect(hasher.hash(of: version6(lead + [2, 3]), now: 0) == six)
        #expect(hasher.hash(of: version6([0x20, 0x01, 0x0D, 0xB8, 0, 0, 2, 1]), now: 0) != six)
        #expect(six != base)
        #expect(hasher.hash(of: .none, now: 0) == nil)
    }

    @Test("mean nothing after the key's time, and nothing under another server's key")
    func rotation() {
        var hasher = PrefixHasher(life: 100, now: 0)
        let client = PeerAddress([192, 0, 2, 7])
        let first = hasher.hash(of: client, now: 0)
        #expect(hasher.hash(of: client, now: 99) == first)
        let second = hasher.hash(of: client, now: 100)
        #expect(second != first)
        #expect(hasher.hash(of: client, now: 199) == second)
        var other = PrefixHasher(life: 100, now: 0)
        #expect(other.hash(of: client, now: 0) != first)
    }

    @Test("know loopback addresses of every form")
    func loopback() {
        #expect(PeerAddress([127, 9, 9, 9]).isLoopback)
        #expect(!PeerAddress([126, 0, 0, 1]).isLoopback)
        #expect(PeerAddress([UInt8](repeating: 0, count: 15) + [1]).isLoopback)
        #expect(!PeerAddress([UInt8](repeating: 0, count: 15) + [2]).isLoopback)
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 127, 0, 0, 1]
        #expect(PeerAddress(mapped).isLoopback)
        #expect(!PeerAddress.none.isLoopback)
    }

    @Test("have no text")
    func redacted() {
        var hasher = PrefixHasher(life: 100, now: 0)
        guard let tag = hasher.hash(of: PeerAddress([192, 0, 2, 7]), now: 0) else {
            Issue.record("an address has a tag")
            return
        }
        var dumped = ""
        dump(tag, to: &dumped)
        #expect("\(tag)" == "(PrefixHash)")
        #expect(!dumped.contains { $0.isNumber })
    }
}
