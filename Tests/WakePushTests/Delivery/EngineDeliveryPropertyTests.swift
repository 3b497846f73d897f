import TestSupport
import Testing
import WakeModel

@testable import WakePush

@Suite("One gateway's part of a round, in any run")
struct EngineDeliveryPropertyTests {
    /// A round of `count` wake-ups against connections that answer, refuse and end at random.
    private struct World {
        let count: Int
        let window: Int
        var flow: EngineDelivery<FakeEngineService>
        var generator: SplitMix64
        var now: UInt64 = 0
        var flights: [(reference: UInt64, connection: UInt32)] = []
        var connections: [UInt32] = [1, 2, 3]
        var settled: [Int: Delivery] = [:]

        init(_ seed: UInt64, count: Int, window: Int) throws {
            self.count = count
            self.window = window
            flow = EngineDelivery(window: window)
            generator = SplitMix64(seed: seed)
        }

        mutating func note(_ wakeUps: [WakeUpResult]) {
            for wakeUp in wakeUps {
                let earlier = settled.updateValue(wakeUp.delivery, forKey: wakeUp.reference)
                #expect(earlier == nil, "settled twice")
            }
        }

        mutating func launch() throws(GatewayFailure) {
            try flow.advance(now: now)
            while let batch = flow.next(now: now) {
                for reference in batch.references {
                    let connection = connections.randomElement(using: &generator) ?? 0
                    flights.append((reference, connection))
                }
                #expect(batch.count > 0 && flights.count <= window)
            }
        }

        mutating func answer(_ flight: (UInt64, UInt32), _ outcomes: inout PushOutcomes) {
            let reference = flight.0
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<3:
                outcomes.answer(reference, status: 410, reason: "Unregistered")
            case 3..<5:
                outcomes.answer(reference, status: 400, reason: "BadDeviceToken")
            case 5..<10:
                outcomes.answer(
                    reference, status: 429, reason: "TooManyRequests",
                    retryAfter: UInt32.random(in: 0...2, using: &generator))
            case 10..<15: outcomes.answer(reference, status: 503)
            case 15..<16: outcomes.answer(reference, status: 410)
            case 16..<20: outcomes.lose(reference, .unknown)
            case 20..<23: outcomes.lose(reference, .unsent)
            case 23..<25: outcomes.lose(reference, .refused)
            default: outcomes.answer(reference, status: 200)
            }
        }

        /// A connection ends: what was on it is lost, seen or not.
        mutating func end(_ outcomes: inout PushOutcomes) {
            let place = Int.random(in: 0..<connections.count, using: &generator)
            let ended = connections[place]
            connections[place] = (connections.max() ?? 0) + 1
            for flight in flights where flight.connection == ended {
                outcomes.lose(
                    flight.reference,
                    Bool.random(using: &generator) ? .unsent : .unknown)
            }
            flights.removeAll { $0.connection == ended }
        }

        mutating func step() throws(GatewayFailure) {
            now += UInt64.random(in: 0...400, using: &generator)
            try launch()
            var outcomes = PushOutcomes()
            flights.shuffle(using: &generator)
            let answers = Int.random(in: 0...max(1, flights.count), using: &generator)
            for _ in 0..<min(answers, flights.count) {
                let flight = flights.removeLast()
                answer(flight, &outcomes)
            }
            if Int.random(in: 0..<10, using: &generator) == 0 { end(&outcomes) }
            let jitter = Double.random(in: 0..<1, using: &generator)
            note(try flow.receive(outcomes, now: now, jitter: jitter).results)
        }
    }

    @Test("every wake-up is settled exactly once", arguments: 0..<60)
    func exactlyOnce(_ seed: UInt64) throws {
        var world = try World(seed, count: 3000, window: 40 + Int(seed) * 10)
        var added = 0
        while world.settled.count < world.count {
            if added < world.count {
                let more = min(700, world.count - added)
                world.flow.add(try WakeUp.numbered(added..<added + more))
                added += more
                if added == world.count { world.flow.flush(isFinal: true) }
            }
            try world.step()
            world.note(try world.flow.conclude())

        }
        #expect(Set(world.settled.keys) == Set(0..<world.count))
        #expect(world.flights.isEmpty)
        #expect(try world.flow.conclude().isEmpty)
        let accepted = world.settled.values.count { $0 == .accepted }
        let gone = world.settled.values.count { $0 == .gone || $0 == .invalid }
        #expect(accepted > 2500 && gone > 50)
    }

    @Test(
        "thirty real push tokens among a hundred thousand invented ones are all woken",
        arguments: [400, 410])
    func invented(_ status: UInt16) throws {
        var generator = SplitMix64(seed: UInt64(status))
        var left = Set(0..<100_030)
        let real = Set(left.shuffled(using: &generator).prefix(30))
        var rounds = 0
        while left.count > 30 {
            rounds += 1
            var flow = EngineDelivery<FakeEngineService>(window: 2000)
            flow.add(try left.shuffled(using: &generator).map { try WakeUp($0) })
            flow.flush(isFinal: true)
            var (now, results) = (0 as UInt64, [WakeUpResult]())
            while results.count < left.count {
                now += 1
                try flow.advance(now: now)
                while let batch = flow.next(now: now) {
                    var outcomes = PushOutcomes()
                    for (order, token) in batch.tokens.enumerated() {
                        let reason = status == 400 ? "BadDeviceToken" : "Unregistered"
                        if real.contains(token) {
                            outcomes.answer(batch.reference(order), status: 200)
                        } else {
                            outcomes.answer(batch.reference(order), status: status, reason: reason)
                        }
                    }
                    results += try flow.receive(outcomes, now: now).results
                }
                results += try flow.conclude()
            }
            let accepted = results.filter { $0.delivery == .accepted }.map(\.reference)
            #expect(Set(accepted) == real)
            for result in results where [.gone, .invalid].contains(result.delivery) {
                left.remove(result.reference)
            }
        }
        #expect(left == real && rounds <= 3)
    }

    @Test("a push service that refuses everything gets ever fewer, and is given up in minutes")
    func pushback() throws {
        var flow = EngineDelivery<FakeEngineService>(window: 2000)
        flow.add(try WakeUp.numbered(0..<100_000))
        var (now, sent, settled) = (0 as UInt64, 0, 0)
        while true {
            do throws(GatewayFailure) {
                try flow.advance(now: now)
            } catch {
                #expect(error == .unavailable(.pushback, .apns))
                break
            }
            while let batch = flow.next(now: now) {
                sent += batch.count
                var outcomes = PushOutcomes()
                for order in 0..<batch.count {
                    outcomes.answer(batch.reference(order), status: 503)
                }
                settled += try flow.receive(outcomes, now: now).results.count
            }
            now += 100
        }
        #expect(now >= ServiceBreaker.patience && now < 2 * ServiceBreaker.patience)
        // One full window, then 64 after each pause.
        #expect(sent < 2000 + 15 * 64)
        #expect(settled < 200)
    }

    @Test("batches are large: a quarter of the window comes together before more is sent")
    func batches() throws {
        var flow = EngineDelivery<FakeEngineService>(window: 1000)
        flow.add(try WakeUp.numbered(0..<5000))
        let batch = try flow.batch(now: 0)
        var isFull = try flow.isIdle(now: 0)
        // Nobody knows yet what the push service can take.
        #expect(batch.count == ConcurrencyLimiter.least && isFull)
        let quarter = (ConcurrencyLimiter.least / 4)
        var outcomes = PushOutcomes()
        for order in 0..<quarter - 1 { outcomes.answer(batch.reference(order), status: 200) }
        _ = try flow.receive(outcomes, now: 0)
        isFull = try flow.isIdle(now: 0)
        #expect(isFull)
        outcomes = PushOutcomes()
        outcomes.answer(batch.reference(quarter - 1), status: 200)
        _ = try flow.receive(outcomes, now: 0)
        #expect(try flow.batch(now: 0).count == quarter)
    }

    @Test("once told to land it lets nothing more leave, and settles what comes")
    func landing() throws {
        var flow = EngineDelivery<FakeEngineService>(window: 1000)
        flow.add(try WakeUp.numbered(0..<100))
        let batch = try flow.batch(now: 0)
        flow.quiesce()
        var outcomes = PushOutcomes()
        for order in 0..<batch.count { outcomes.answer(batch.reference(order), status: 200) }
        #expect(try flow.receive(outcomes, now: 1).results.count == batch.count)
        let isOver = try flow.isIdle(now: 100_000)
        #expect(isOver && flow.inFlight == 0)
    }
}
