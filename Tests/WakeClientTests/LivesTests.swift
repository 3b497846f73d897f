import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeFetch

@testable import Reveille

/// Whole clients with real state on disk: random registrations, faults, crashes and directives, and
/// the rows that the service holds in the end.
@Suite("Whole lives of clients, in milliseconds", .timeLimit(.minutes(10)))
struct LivesTests {
    @Test("random changes and random faults end as desired, and with one row at most ever")
    func lives() throws {
        var (crashes, retirements, answered) = (0, 0, 0)
        for seed in LongForm.seeds(40, long: 5000) {
            let life = try ClientLife(seed: seed)
            for _ in 0..<4 { try life.process() }
            try life.runUntilStable()
            #expect(life.world.service.mostRows <= 1, "seed \(seed)")
            let rows = life.world.service.rows
            let isAsDesired = life.desiredTokens.contains(rows.first)
            #expect(isAsDesired && rows.count <= 1, "seed \(seed)")
            #expect(try life.isOfOneMind(), "seed \(seed)")
            crashes += life.crashes
            retirements += life.isRetired ? 1 : 0
            answered += life.world.registrations.count
        }
        // The faults did happen.
        #expect(crashes > 10 && retirements > 2 && answered > 250)
    }
}

/// One client from its first process to its last.
private final class ClientLife: Sendable {
    private struct State {
        /// Tokens that may be desired: several after a crash in a change; nil for none.
        var desiredTokens: Set<[UInt8]?> = [nil]
        var isRetired = false
        var crashes = 0
    }

    let world: World
    private let state = Mutex(State())

    init(seed: UInt64) throws {
        let settings = FeedSettings(pollSeconds: 3600, spreadSeconds: 30)
        world = try World(seed: seed, settings: settings)
        try world.feed.publishCover()
    }

    var desiredTokens: Set<[UInt8]?> { state.withLock { $0.desiredTokens } }
    var isRetired: Bool { state.withLock { $0.isRetired } }
    var crashes: Int { state.withLock { $0.crashes } }

    private func below(_ bound: UInt64) -> UInt64 { world.time.random() % bound }

    /// One process: it starts, much is desired and much fails, and it ends or is killed.
    func process() throws {
        let crash = SimulatedCrash(of: world, at: Int(below(3) == 0 ? below(120) : 1_000_000))
        try world.time.run { [self] in
            // Opening may die as well.
            guard let client = try? world.client(below(2) == 0 ? .stream : .poll) else { return }
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            for _ in 0..<12 {
                try await act(client)
                await world.time.sleep(.seconds(Int64(below(below(4) == 0 ? 100_000 : 200))))
            }
            running.cancel()
            _ = await running.result
        }
        try crash.restore()
        if crash.hasCrashed { state.withLock { $0.crashes += 1 } }
    }

    private func act(_ client: WakeClient) async throws {
        switch below(14) {
        case 0...3: await setDesired(Array("token-of-this-device-\(below(3))".utf8), client)
        case 4, 5: await setDesired(nil, client)
        case 6 where below(6) == 0:
            state.withLock { state in
                state.isRetired = true
                // From whenever the client learns of it.
                state.desiredTokens.insert(nil)
            }
            try order(.retired)
            world.network.broadcast(World.event(0))
        case 6: try order(below(2) == 0 ? .noRegistration : [])
        case 7: world.service.forgetAll()
        case 8: world.time.setWall(by: Int64(below(2_000_000)) - 1_000_000)
        case 9: world.time.suspend(for: .seconds(Int64(below(200_000))))
        case 10: world.network.fail(.registration, with: .network(code: 7))
        case 11: world.network.fail(.registration, with: nil)
        default: world.service.answer(next: (0..<below(6)).map { _ in fault() })
        }
    }

    private func order(_ flags: FeedFlags) throws {
        guard !isRetired || flags == .retired else { return }
        try world.feed.resign(
            FeedSettings(pollSeconds: 3600, spreadSeconds: 30, flags: flags))
    }

    /// Wishes, and waits for the first attempt, or goes on at once, or goes away in its midst.
    private func setDesired(_ text: [UInt8]?, _ client: WakeClient) async {
        state.withLock { _ = $0.desiredTokens.insert(text) }
        let isRetired = isRetired
        let asked = Task(executorPreference: world.time.tasks) { [self] in
            do {
                if let text {
                    _ = try await client.register(.init(.fcm, text: text))
                } else {
                    _ = try await client.unregister()
                }
                // It returned: this and nothing older is desired from here on.
                if !isRetired { state.withLock { $0.desiredTokens = [text] } }
            } catch {}
        }
        switch below(3) {
        case 0: await asked.value
        case 1:
            await world.time.sleep(.milliseconds(Int64(below(30))))
            asked.cancel()
            await asked.value
        default:
            await world.time.sleep(.milliseconds(Int64(below(30))))
            await asked.value
        }
    }

    private func fault() -> SimulatedNetwork.Answer {
        let delay = Duration.milliseconds(Int64(below(40_000)))
        switch below(7) {
        case 0: return .init(isLost: true, delay: delay)
        case 1: return .init(isUnsent: true)
        case 2: return .init(status: 500, delay: delay)
        case 3: return .init(status: 429, retryAfter: Int(below(100_000)))
        // A captive portal.
        case 4: return .init(status: 200, body: Array("<html>".utf8), contentType: .html)
        case 5: return .init(status: 302)
        default: return .init(status: 422)
        }
    }

    /// No fault from here on: as long as a renewal takes at most.
    func runUntilStable() throws {
        world.service.answerTruly()
        world.network.failEverything(with: nil)
        if !isRetired { try order([]) }
        try world.time.run { [world] in
            let client = try world.client()
            try await world.live(client, for: .seconds(3 * 86_400))
        }
        if isRetired { state.withLock { $0.desiredTokens = [nil] } }
    }

    /// Whether the client says what the service holds.
    func isOfOneMind() throws -> Bool {
        try world.time.run { [world] in
            let client = try world.client()
            let state = await client.status.registration
            return state == (world.service.rows.isEmpty ? .none : .registered)
        }
    }
}
