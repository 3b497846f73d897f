import Testing

@testable import WakeFetch

@Suite("Fetch queue")
struct FetchQueueTests {
    private let a: [UInt8] = [1]
    private let b: [UInt8] = [2]
    private let c: [UInt8] = [3]

    private func drain(_ queue: inout FetchQueue<UInt64>) -> [UInt64] {
        var turns: [UInt64] = []
        while let turn = queue.next() { turns.append(turn.element) }
        return turns
    }

    @Test("first come first served to one host, hosts in turns, no more than the bounds")
    func order() {
        var queue = FetchQueue<UInt64>(total: 5, perHost: 2)
        for id in 1...4 { queue.add(UInt64(id), id: UInt64(id), to: a, probes: false) }
        for id in 11...14 { queue.add(UInt64(id), id: UInt64(id), to: b, probes: false) }
        for id in 21...22 { queue.add(UInt64(id), id: UInt64(id), to: c, probes: false) }
        #expect(drain(&queue) == [1, 11, 21, 2, 12])
        #expect(queue.running == 5)
        queue.ended(a)
        // The place that is free stays with its host.
        #expect(drain(&queue) == [3])
        queue.ended(c)
        #expect(drain(&queue) == [22])
        queue.ended(c)
        #expect(drain(&queue) == [])
        queue.ended(a)
        queue.ended(a)
        #expect(drain(&queue) == [4])
        for host in [b, b, b, c, a] where queue.running > 0 {
            queue.ended(host)
            _ = drain(&queue)
        }
        #expect(queue.isEmpty)
    }

    @Test("where there are more hosts than room, a host keeps its place for a while, not for ever")
    func streaks() {
        var queue = FetchQueue<UInt64>(total: 2, perHost: 2)
        for id in 0..<1000 { queue.add(UInt64(id), id: UInt64(id), to: a, probes: false) }
        #expect(drain(&queue).count == 2)
        queue.add(5000, id: 5000, to: b, probes: false)
        queue.add(6000, id: 6000, to: c, probes: false)
        var order: [UInt64] = []
        for _ in 0..<200 {
            let isOther = (order.last ?? 0) >= 5000
            queue.ended(isOther ? (order.last == 5000 ? b : c) : a)
            order += drain(&queue)
        }
        let (first, second) = (order.firstIndex(of: 5000), order.firstIndex(of: 6000))
        #expect(first == FetchQueue<UInt64>.streak)
        #expect((second ?? 0) > FetchQueue<UInt64>.streak)
        #expect((second ?? .max) < 150)
        #expect(order.count == 200)
    }

    @Test("a host at its bound holds up no other")
    func hanging() {
        var queue = FetchQueue<UInt64>(total: 4, perHost: 2)
        for id in 0..<1000 { queue.add(UInt64(id), id: UInt64(id), to: a, probes: false) }
        #expect(drain(&queue) == [0, 1])
        for id in 2000..<2100 {
            queue.add(UInt64(id), id: UInt64(id), to: b, probes: false)
            #expect(drain(&queue) == [UInt64(id)])
            queue.ended(b)
        }
        #expect(drain(&queue) == [])
    }

    @Test("where a connection may be shared, one goes first until it is answered or over")
    func probes() {
        var queue = FetchQueue<UInt64>(total: 100, perHost: 3)
        for id in 1...5 { queue.add(UInt64(id), id: UInt64(id), to: a, probes: true) }
        let first = queue.next()
        #expect(first?.element == 1)
        #expect(first?.isProbe == true)
        #expect(queue.next() == nil)
        queue.answered(a)
        #expect(queue.next()?.isProbe == false)
        #expect(drain(&queue) == [3])
        queue.ended(a)
        #expect(drain(&queue) == [4])
        // Another host, whose first ends without an answer.
        for id in 11...14 { queue.add(UInt64(id), id: UInt64(id), to: b, probes: true) }
        #expect(drain(&queue) == [11])
        queue.ended(b)
        #expect(drain(&queue) == [12, 13, 14])
    }

    @Test("after all is over, the next goes first again")
    func forgotten() {
        var queue = FetchQueue<UInt64>(total: 100, perHost: 3)
        queue.add(1, id: 1, to: a, probes: true)
        #expect(drain(&queue) == [1])
        queue.answered(a)
        queue.ended(a)
        queue.add(2, id: 2, to: a, probes: true)
        queue.add(3, id: 3, to: a, probes: true)
        #expect(drain(&queue) == [2])
    }

    @Test("what is taken back gets no turn, and its place is for the next")
    func removed() {
        var queue = FetchQueue<UInt64>(total: 1, perHost: 1)
        for id in 1...4 { queue.add(UInt64(id), id: UInt64(id), to: a, probes: false) }
        #expect(drain(&queue) == [1])
        #expect(queue.remove(1) == nil)
        #expect(queue.remove(2) == 2)
        #expect(queue.remove(2) == nil)
        queue.ended(a)
        #expect(drain(&queue) == [3])
        #expect(queue.removeAll() == [4])
        queue.ended(a)
        #expect(drain(&queue) == [])
        queue.add(5, id: 5, to: a, probes: false)
        #expect(drain(&queue) == [5])
    }

    @Test("any order of events keeps the bounds, loses nothing and starves nobody")
    func property() {
        for seed in 0..<60 {
            let (total, perHost) = (1 + seed % 9, 1 + seed % 4)
            var queue = FetchQueue<UInt64>(total: total, perHost: perHost)
            var running: [[UInt8]: Int] = [:]
            var (added, removed, turns) = (Set<UInt64>(), Set<UInt64>(), Set<UInt64>())
            func admit() {
                while let turn = queue.next() {
                    #expect(turns.insert(turn.element).inserted)
                    running[turn.host, default: 0] += 1
                    #expect(running[turn.host, default: 0] <= perHost)
                    #expect(running.values.reduce(0, +) <= total)
                }
            }
            func end() {
                guard let host = running.filter({ $0.value > 0 }).keys.randomElement() else {
                    return
                }
                running[host, default: 0] -= 1
                queue.ended(host)
            }
            for id in 0..<UInt64(600) {
                let host = [UInt8.random(in: 0..<5)]
                switch Int.random(in: 0..<10) {
                case 0...5:
                    queue.add(id, id: id, to: host, probes: seed % 2 == 0)
                    added.insert(id)
                case 6:
                    if let id = added.randomElement(), queue.remove(id) != nil {
                        removed.insert(id)
                        #expect(!turns.contains(id))
                    }
                case 7: if running[host, default: 0] > 0 { queue.answered(host) }
                default: end()
                }
                admit()
            }
            while running.values.contains(where: { $0 > 0 }) {
                end()
                admit()
            }
            #expect(turns.union(removed) == added)
            #expect(turns.isDisjoint(with: removed))
            #expect(queue.isEmpty)
            #expect(queue.running == 0)
        }
    }
}
