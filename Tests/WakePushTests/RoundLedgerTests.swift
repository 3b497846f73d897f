import Testing

@testable import WakePush

@Suite("The ledger of wake-ups")
struct RoundLedgerTests {
    private func ledger(_ count: Int) throws -> WakeUpLedger {
        var ledger = WakeUpLedger()
        ledger.add(try WakeUp.numbered(0..<count))
        return ledger
    }

    @Test("what is launched comes back by batch and place")
    func launch() throws {
        var ledger = try ledger(5)
        let (first, entries) = ledger.launch(3)
        #expect(entries.map(\.wakeUp.reference) == [0, 1, 2])
        #expect(ledger.inFlight == 3 && ledger.readyCount == 2)
        let (second, rest) = ledger.launch(2)
        #expect(rest.map(\.wakeUp.reference) == [3, 4] && second != first)
        #expect(ledger.land(first, 2).wakeUp.reference == 2)
        #expect(ledger.land(second, 0).wakeUp.reference == 3)
        #expect(ledger.inFlight == 3 && !ledger.isEmpty)
        for order in 0..<2 as Range<UInt32> { _ = ledger.land(first, order) }
        _ = ledger.land(second, 1)
        #expect(ledger.isEmpty)
    }

    @Test("what waits for a time is not ready before it, and within a tenth of a second after")
    func delayed() throws {
        for wait in [1, 99, 100, 101, 500, 12_345] as [UInt64] {
            for now in [0, 1, 50, 99, 100, 1234] as [UInt64] {
                var ledger = try ledger(1)
                let (batch, _) = ledger.launch(1)
                ledger.add(ledger.land(batch, 0), after: wait, now: now)
                #expect(ledger.delayedCount == 1 && !ledger.isEmpty)
                ledger.advance(now: now + wait - 1)
                #expect(ledger.readyCount == 0)
                ledger.advance(now: now + wait + 99)
                #expect(ledger.readyCount == 1 && ledger.delayedCount == 0)
            }
        }
    }

    @Test("a wait of nothing is ready at once")
    func atOnce() throws {
        var ledger = try ledger(1)
        let (batch, _) = ledger.launch(1)
        ledger.add(ledger.land(batch, 0), after: 0, now: 5)
        #expect(ledger.readyCount == 1 && ledger.delayedCount == 0)
    }

    @Test("in any run nothing is lost and nothing doubled", arguments: 0..<40)
    func anyRun(_ seed: UInt64) throws {
        var generator = RoundGenerator(seed)
        var ledger = WakeUpLedger()
        var flights: [(batch: UInt32, order: UInt32, reference: Int)] = []
        var spent: [Int: Int] = [:]
        var (added, now) = (0, 0 as UInt64)
        var settled: Set<Int> = []
        while added < 6000 || !ledger.isEmpty {
            now += UInt64.random(in: 0...60, using: &generator)
            ledger.advance(now: now)
            if added < 6000, Int.random(in: 0..<3, using: &generator) == 0 {
                let more = Int.random(in: 1...2000, using: &generator)
                ledger.add(try WakeUp.numbered(added..<added + more))
                added += more
            }
            if ledger.readyCount > 0 {
                let count = Int.random(in: 1...ledger.readyCount, using: &generator)
                let (batch, entries) = ledger.launch(count)
                for (order, entry) in entries.enumerated() {
                    flights.append((batch, UInt32(order), entry.wakeUp.reference))
                }
            }
            flights.shuffle(using: &generator)
            for _ in 0..<min(flights.count, Int.random(in: 0...1500, using: &generator)) {
                let flight = flights.removeLast()
                var entry = ledger.land(flight.batch, flight.order)
                #expect(entry.wakeUp.reference == flight.reference)
                #expect(entry.spent == spent[flight.reference, default: 0])
                if Int.random(in: 0..<3, using: &generator) == 0 {
                    entry.spent += 1
                    spent[flight.reference, default: 0] += 1
                    let wait = UInt64.random(in: 0...300, using: &generator)
                    ledger.add(entry, after: wait, now: now)
                } else {
                    #expect(settled.insert(flight.reference).inserted)
                }
            }
            #expect(ledger.inFlight == flights.count)
            #expect(
                settled.count + ledger.readyCount + ledger.delayedCount + ledger.inFlight
                    == added)
        }
        #expect(settled == Set(0..<added))
    }
}
