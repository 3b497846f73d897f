import Synchronization
import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Hashes of address prefixes")
struct PrefixHashTests {
    private func version6(_ lead: [UInt8]) -> PeerAddress {
        PeerAddress(lead + [UInt8](repeating: 0xAA, count: 16 - lead.count))
    }

    private func hash(
        _ hasher: inout PrefixHasher, _ address: PeerAddress, _ now: UInt64
    ) throws -> PrefixHash {
        let hash = hasher.hash(of: address, now: now)
        return try #require(hash)
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
    func rotation() throws {
        var hasher = PrefixHasher(life: 100, now: 0)
        let client = PeerAddress([192, 0, 2, 7])
        let first = try hash(&hasher, client, 0)
        let same = try hash(&hasher, client, 99)
        #expect(same == first)
        let second = try hash(&hasher, client, 100)
        #expect(second.slots(of: 1 << 40).0 != first.slots(of: 1 << 40).0)
        #expect(second.slots(of: 1 << 40).1 == first.slots(of: 1 << 40).0)
        for source in [first, same, second] { hasher.release(source, now: 150) }
        // Everybody has been gone for as long as counts are of use: nothing leads back.
        let third = try hash(&hasher, client, 250)
        let places = [third.slots(of: 1 << 40).0, third.slots(of: 1 << 40).1]
        #expect(!places.contains(first.slots(of: 1 << 40).0))
        var other = PrefixHasher(life: 100, now: 0)
        #expect(other.hash(of: client, now: 0) != first)
    }

    @Test("count everybody who is there, however keys turn: 20 lives of random clients")
    func counts() throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            var random = SplitMix64(seed: seed)
            var hasher = PrefixHasher(life: 600, now: 0)
            var counts = SourceCounts()
            var live: [(net: UInt8, source: PrefixHash)] = []
            var turns = Set<Int>()
            var now: UInt64 = 0
            for _ in 0..<2000 {
                now += random.next() % 60
                // Everybody leaves now and then, or else the first key would stay.
                if random.next() % 400 == 0 {
                    for (_, source) in live {
                        counts.remove(source)
                        hasher.release(source, now: now)
                    }
                    live = []
                }
                if random.next() % 2 == 0, !live.isEmpty {
                    let (_, source) = live.remove(at: Int(random.next() % UInt64(live.count)))
                    counts.remove(source)
                    hasher.release(source, now: now)
                } else {
                    let net = UInt8(random.next() % 3)
                    let address = PeerAddress([192, 0, net, UInt8(random.next() % 256)])
                    let source = try hash(&hasher, address, now)
                    counts.add(source)
                    live.append((net, source))
                    turns.insert(source.slots(of: 1 << 40).0)
                }
                for (net, source) in live.suffix(20) {
                    #expect(counts[source] == live.count { $0.net == net })
                }
            }
            #expect(turns.count > 9, "keys do turn")
        }
    }

    @Test("what was counted at their places stays known for the life of a key")
    func places() throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            var random = SplitMix64(seed: seed)
            var hasher = PrefixHasher(life: 600, now: 0)
            var counted: [Int: UInt64] = [:]
            var last: UInt64?
            var open: [PrefixHash] = []
            var now: UInt64 = 0
            for _ in 0..<2000 {
                now += random.next() % 100
                while open.count > Int(random.next() % 3) {
                    hasher.release(open.removeFirst(), now: now)
                }
                let source = try hash(&hasher, PeerAddress([192, 0, 2, 7]), now)
                open.append(source)
                // The first that is open may be older than the keys' last turn.
                for places in [source, open[0]].map({ $0.slots(of: 1 << 40) }) {
                    let known = max(counted[places.0] ?? 0, counted[places.1] ?? 0)
                    if let last, now - last < 600 { #expect(known == last, "seed \(seed)") }
                }
                let places = open[Int(random.next() % UInt64(open.count))].slots(of: 1 << 40)
                counted[places.0] = now
                counted[places.1] = now
                last = now
            }
        }
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
