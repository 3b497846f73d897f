import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush
@testable import WakeServer

@Suite("RelayDeliveryState, random runs")
struct RelayDeliveryStatePropertyTests {
    /// A relay that answers, cuts, lies and refuses at random. Wake-ups whose number ends in 7 are
    /// gone, and no others.
    private struct World {
        var state = RelayDeliveryState(.apns)
        var generator: SplitMix64
        var now: UInt64 = 0
        var flights: [(request: UInt32, references: [Int])] = []
        var settled: [Int: Delivery] = [:]

        init(_ seed: UInt64) { generator = SplitMix64(seed: seed) }

        mutating func note(_ step: DeliveryStep) {
            #expect(step.failure == nil)
            for wakeUp in step.results {
                let earlier = settled.updateValue(wakeUp.delivery, forKey: wakeUp.reference)
                #expect(earlier == nil, "settled twice")
                if wakeUp.delivery == .gone { #expect(wakeUp.reference % 10 == 7) }
            }
        }

        /// The lines of a request in any order.
        mutating func answer(_ references: [Int]) -> [RelayLine] {
            let lines = references.enumerated().map { wake, reference in
                RelayLine.delivery(wake: wake, reference % 10 == 7 ? .gone : .accepted)
            }
            return lines.shuffled(using: &generator) + [.done(references.count)]
        }

        mutating func run(_ flight: (request: UInt32, references: [Int])) {
            var lines = answer(flight.references)
            var isCut = false
            switch Int.random(in: 0..<12, using: &generator) {
            case 0: return end(flight.request, .refused(.busy(retryAfter: 2)))
            case 1: return end(flight.request, .refused(.failed(retryAfter: 0)))
            case 2: return end(flight.request, .unconnected(isUnknownHost: false))
            case 3: return end(flight.request, .refused(.replayed))
            case 4: return end(flight.request, .refused(.stale(difference: nil)))
            case 5...7: isCut = true
            case 8:
                // A lie: everything is gone, said of wake-ups that have their line already.
                let place = Int.random(in: 1...lines.count, using: &generator)
                let others = flight.references.indices.map { RelayLine.delivery(wake: $0, .gone) }
                let sent = lines.prefix(place)
                let doubled = others.filter { line in
                    sent.contains { Self.wake($0) == Self.wake(line) }
                }
                if !doubled.isEmpty { lines = Array(sent) + doubled + others }
            default: break
            }
            var bytes = lines.flatMap(\.text)
            if isCut {
                bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
            }
            while !bytes.isEmpty {
                let count = Int.random(in: 1...max(1, bytes.count), using: &generator)
                let chunk = Array(bytes.prefix(count))
                bytes.removeFirst(count)
                let step = state.read(chunk.span, of: flight.request)
                note(step)
                if step.isBroken { return end(flight.request, .interrupted) }
            }
            end(flight.request, isCut ? .interrupted : .completed)
        }

        private static func wake(_ line: RelayLine) -> Int? {
            if case .delivery(let wake, _) = line { wake } else { nil }
        }

        mutating func end(_ request: UInt32, _ end: RelayResult) {
            let random = Double.random(in: 0..<1, using: &generator)
            note(state.ended(request, end, now: now, random: random))
        }

        mutating func step() {
            now += UInt64.random(in: 0...3000, using: &generator)
            while let (request, entries) = state.next(now: now) {
                flights.append((request, entries.map(\.wakeUp.reference)))
                #expect(flights.count <= RelayBackoff.requests && entries.count <= 1000)
            }
            guard !flights.isEmpty, Bool.random(using: &generator) else { return }
            run(flights.remove(at: Int.random(in: 0..<flights.count, using: &generator)))
        }
    }

    @Test("every wake-up is settled exactly once, and only what is gone is gone", arguments: 0..<60)
    func exactlyOnce(_ seed: UInt64) throws {
        let count = 2500 + Int(seed) * 17
        var world = World(seed)
        var added = 0
        while world.settled.count < count {
            if added < count {
                let more = min(700, count - added)
                world.state.add(try WakeUp.numbered(added..<added + more))
                added += more
                if added == count { world.state.flush(isFinal: false) }
            }
            world.step()
        }
        while !world.flights.isEmpty { world.step() }
        #expect(Set(world.settled.keys) == Set(0..<count))
        #expect(world.flights.isEmpty && world.state.inFlight == 0)
        let gone = world.settled.values.count { $0 == .gone }
        #expect(gone > count / 40 && gone <= count / 10 + 1)
    }
}
