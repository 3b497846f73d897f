import TestSupport
import Testing
import WakeModel
import WakePush

@testable import WakeRelay

@Suite("RelayPendingRequests")
struct RelayPendingRequestsTests {
    private static let stop = RelayLine.stopped(.apns, .unavailable).text

    private func text(_ output: RelayPendingRequests.Output) -> [String] {
        String(decoding: output.lines, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test("gives every wake-up a reference of its own, and its request its outcome")
    func references() {
        var pending = RelayPendingRequests()
        let first = pending.open(wakes: 1_000, due: 10)
        let second = pending.open(wakes: 2, due: 10)
        let references = (0..<1_000).map { pending.assign($0, of: first, to: 1) }
        let others = (0..<2).map { pending.assign($0, of: second, to: 1) }
        #expect(Set(references + others).count == 1_002)
        pending.settle([
            WakeUpResult(reference: others[1], delivery: .gone),
            WakeUpResult(reference: references[999], delivery: .accepted),
        ])
        let outputs = pending.takeOutput()
        #expect(outputs.map(\.request) == [first, second])
        #expect(text(outputs[0]) == [#"{"wake":999,"delivery":"accepted"}"#])
        #expect(text(outputs[1]) == [#"{"wake":1,"delivery":"gone"}"#])
        #expect(pending.takeOutput().isEmpty)
    }

    @Test("takes no outcome twice, and none for a request that is gone")
    func stray() {
        var pending = RelayPendingRequests()
        let request = pending.open(wakes: 2, due: 10)
        let reference = pending.assign(0, of: request, to: 1)
        let other = pending.assign(1, of: request, to: 1)
        let settled = WakeUpResult(reference: reference, delivery: .accepted)
        pending.settle([settled, settled])
        #expect(pending.takeOutput().map(text) == [[#"{"wake":0,"delivery":"accepted"}"#]])
        pending.close(request)
        pending.settle([WakeUpResult(reference: other, delivery: .gone)])
        #expect(pending.isEmpty && pending.takeOutput().isEmpty)
    }

    @Test("says once for each push service that a round stopped, and settles only its wake-ups")
    func stops() {
        var pending = RelayPendingRequests()
        let request = pending.open(wakes: 4, due: 10)
        _ = (0..<2).map { pending.assign($0, of: request, to: 1) }
        let left = pending.assign(2, of: request, to: 2)
        pending.withhold(1, of: request, .fcm, RelayLine.stopped(.fcm, .serviceOff).text)
        pending.stop(1, .apns, Self.stop)
        pending.stop(1, .apns, Self.stop)
        pending.settle([WakeUpResult(reference: left, delivery: .accepted)])
        let output = pending.takeOutput()[0]
        #expect(
            text(output) == [
                #"{"service":"fcm","stopped":"misconfigured","cause":"service-off"}"#,
                #"{"service":"apns","stopped":"unavailable","cause":"unavailable"}"#,
                #"{"wake":2,"delivery":"accepted"}"#, #"{"done":4}"#,
            ])
        #expect(output.end == RelayCounts(accepted: 1, stopped: 3))
        #expect(pending.isEmpty)
    }

    @Test("whatever happens in whatever order, a request ends once, with at most a line a wake-up")
    func property() {
        for seed in UInt64(0)..<60 {
            var random = SplitMix64(seed: seed)
            var pending = RelayPendingRequests()
            var out: [Int] = []
            var said: [Int: [String]] = [:]
            var ended: [Int: RelayCounts] = [:]
            var sizes: [Int: Int] = [:]
            var closed: Set<Int> = []
            func listen() {
                for output in pending.takeOutput() {
                    #expect(ended[output.request] == nil && !closed.contains(output.request))
                    said[output.request, default: []] += text(output)
                    ended[output.request] = output.end
                }
            }
            for now in UInt64(0)..<200 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<3:
                    let count = Int.random(in: 1...20, using: &random)
                    let request = pending.open(wakes: count, due: now + 30)
                    sizes[request] = count
                    let round = Int.random(in: 1...3, using: &random)
                    out += (0..<count).map { pending.assign($0, of: request, to: round) }
                case 3..<8:
                    out.shuffle(using: &random)
                    let some = out.suffix(15).map {
                        WakeUpResult(reference: $0, delivery: .accepted)
                    }
                    out.removeLast(some.count)
                    pending.settle(some)
                case 8: pending.stop(Int.random(in: 1...3, using: &random), .apns, Self.stop)
                default:
                    if let request = sizes.keys.randomElement(using: &random),
                        ended[request] == nil
                    {
                        pending.close(request)
                        closed.insert(request)
                    }
                }
                pending.expire(now: now)
                if Bool.random(using: &random) { listen() }
            }
            listen()
            pending.expire(now: .max)
            listen()
            #expect(pending.isEmpty)
            for (request, size) in sizes where !closed.contains(request) {
                let lines = said[request] ?? []
                #expect(lines.last == "{\"done\":\(size)}")
                let wakes = lines.filter { $0.contains("wake") }
                #expect(Set(wakes).count == wakes.count && wakes.count <= size)
                let counts = ended[request] ?? RelayCounts()
                #expect(counts.accepted + counts.retried == wakes.count)
                #expect(wakes.count + counts.stopped == size)
            }
        }
    }
}
