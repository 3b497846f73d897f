import TestSupport
import Testing
import WakeFetch
import WakeModel

@testable import WakePush

@Suite("Web Push flow, at random")
struct WebPushDeliveryPropertyTests {
    private static let outcomes: [WebPushOutcome] = [
        .answered(201), .answered(201), .answered(201), .answered(204), .answered(404),
        .answered(410), .answered(429), .answered(status: 429, retryAfter: 3),
        .answered(status: 503, retryAfter: 700), .answered(500), .answered(403), .answered(400),
        .answered(302), .failed(.timeout), .failed(.network(code: 7)), .failed(.tls(code: 60)),
        .failed(.tooLarge), .failed(.addressRefused), .failed(.protocolViolation),
    ]

    @Test("whatever is answered, every wake-up is settled once", arguments: 0..<60)
    func settledOnce(_ seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var limits = WebPushLimits()
        limits.perHost = Int.random(in: 1...8, using: &generator)
        limits.total = Int.random(in: 1...32, using: &generator)
        limits.window = Int.random(in: 64...512, using: &generator)
        limits.held = Int.random(in: 0...40, using: &generator)
        limits.hosts = Int.random(in: 3...30, using: &generator)
        var world = WebPushWorld(limits: limits, seed: seed)
        // Some hosts are of one kind, others of every kind.
        let kinds = (0..<20).map { _ in
            Bool.random(using: &generator) ? Self.outcomes.randomElement(using: &generator) : nil
        }
        let chances = Chances(seed)
        var accepted: Set<String> = []
        var last: [Int: (host: String, outcome: WebPushOutcome)] = [:]
        world.answer = { host, number, _ in
            let kind = kinds[Int(host.prefix { $0 != "." }.dropFirst(4)) ?? 0]
            let outcome = kind ?? Self.outcomes[chances.next(Self.outcomes.count)]
            if case .answered(let status, _) = outcome, (200...299).contains(status) {
                accepted.insert(host)
            } else if case .failed(.tooLarge) = outcome {
                accepted.insert(host)
            }
            last[number] = (host, outcome)
            return (UInt64(1 + chances.next(400)), outcome)
        }
        world.lookUp = { host, _ in
            switch chances.next(12) {
            case 0: (300, .failure(.timedOut))
            case 1 where host.hasPrefix("push1"): (5, .failure(.notFound))
            case 2 where host.hasPrefix("push2"): (5, .success([Self.inside]))
            default: (7, .success([WebPushWorld.address]))
            }
        }
        let wakeUps = try (0..<600).map {
            try WebPushWorld.wakeUp(
                $0, "push\(Int.random(in: 0..<20, using: &generator)).example.org")
        }
        world.run(wakeUps, capacity: limits.window)
        if world.failure == nil {
            #expect(world.settled.count == 600)
            #expect(world.flow.pending == 0 && world.flow.heldCount == 0)
            #expect(world.flow.inFlight == 0 && world.flow.hosts.unprovenInFlight == 0)
        } else {
            #expect(accepted.isEmpty && world.settled.count < 600)
        }
        for (number, delivery) in world.settled where delivery == .gone {
            let (host, outcome) = try #require(last[number])
            guard case .answered(let status, _) = outcome else {
                Issue.record("gone without an answer")
                continue
            }
            #expect(status == 410 || status == 404 && accepted.contains(host))
        }
        #expect(world.mostInFlight <= limits.total && world.mostAtHost <= limits.perHost)
    }

    @Test("a round that is landed at any moment settles nothing twice and sends no more")
    func landedAnywhere() throws {
        for moment in 0..<60 {
            var world = WebPushWorld(seed: UInt64(moment))
            let chances = Chances(UInt64(moment))
            world.answer = { _, _, _ in
                (UInt64(1 + chances.next(300)), Self.outcomes[chances.next(Self.outcomes.count)])
            }
            world.add(
                try (0..<200).map { try WebPushWorld.wakeUp($0, "p\($0 % 9).example.org") })
            for _ in 0..<moment { world.step() }
            world.flow.quiesce()
            let sent = world.sent
            for _ in 0..<400 { world.step() }
            #expect(world.sent == sent && world.flow.inFlight == 0)
        }
    }

    /// Not global.
    private static let inside = IPAddress(bytes: [10, 0, 0, 1])!

    private final class Chances {
        private var generator: SplitMix64

        init(_ seed: UInt64) { generator = SplitMix64(seed: seed &+ 77) }

        func next(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
    }
}
