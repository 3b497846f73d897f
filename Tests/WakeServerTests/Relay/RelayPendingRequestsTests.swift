import TestSupport
import Testing
import WakeModel

@testable import WakePush
@testable import WakeServer

@Suite("RelayPendingRequests")
struct RelayPendingRequestsTests {
    private static let stop = RelayLine.stopped(.apns, .unavailable).text

    private func text(_ output: RelayPendingRequests.Output) -> [String] {
        String(decoding: output.lines, as: UTF8.self).split(separator: "\n").map(String.init)
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
