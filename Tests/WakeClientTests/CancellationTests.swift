import ReveilleTesting
import Testing
import WakeFeed
import WakeFetch

@testable import Reveille

/// Cancelled between any two jobs, which is wherever something is awaited.
@Suite("Cancelled anywhere, the next one finds everything in order", .timeLimit(.minutes(5)))
struct CancellationTests {
    private static let secret = Array("only this device knows this".utf8)
    private static let token = Array("a-token-that-nobody-else-has-0123456789".utf8)

    private func world() throws -> World {
        let world = try World(settings: FeedSettings(pollSeconds: 3600, spreadSeconds: 5))
        world.secrets.add("visit", Self.secret)
        try world.feed.publishCover()
        try world.feed.publish([Self.secret], note: "note")
        return world
    }

    /// Runs `act` and cancels it after 1, 2, 3 … jobs, until it ends by itself; then `check`s.
    /// - Returns: how often it was cancelled.
    private func cancelEverywhere(
        _ act: @escaping @Sendable (World, WakeClient) async throws -> Void,
        _ check: @escaping @Sendable (World, WakeClient, Int) async throws -> Void
    ) throws -> Int {
        // The short form leaves out two of three.
        for jobs in stride(from: 1, to: 2000, by: LongForm.isAsked ? 1 : 3) {
            let world = try world()
            let isOver = try world.time.run {
                let client = try world.client(.stream)
                let task = Task(executorPreference: world.time.tasks) {
                    try await act(world, client)
                }
                world.time.interrupt(after: jobs) { task.cancel() }
                _ = await task.result
                let isOver = world.time.isInterruptionDue
                try await check(world, client, jobs)
                return isOver
            }
            if isOver { return jobs }
        }
        throw Endless()
    }

    private struct Endless: Error {}

    @Test("a cycle, by hand or by push: the next one finds and delivers what there is, once")
    func synchronize() throws {
        for reason in [SyncReason.manual, .push] {
            let count = try cancelEverywhere { _, client in
                try await client.synchronize(reason)
            } _: { world, client, jobs in
                try await client.synchronize()
                #expect(await client.status.sequence == 2, "\(jobs)")
                #expect(await client.status.matchesToDeliver == 0, "\(jobs)")
                #expect(world.handler.matches.count == 1, "\(jobs)")
            }
            #expect(count > 15)
        }
    }

    @Test("a cycle that others wait for: theirs goes on, also when they are many")
    func waiting() throws {
        let count = try cancelEverywhere { world, client in
            let others = (0..<2).map { _ in
                Task(executorPreference: world.time.tasks) { try await client.synchronize() }
            }
            defer { for other in others { other.cancel() } }
            try await client.synchronize()
            for other in others { _ = try await other.value }
        } _: { world, client, jobs in
            try await client.synchronize()
            #expect(await client.status.sequence == 2, "\(jobs)")
            #expect(world.handler.matches.count == 1, "\(jobs)")
        }
        #expect(count > 20)
    }

    @Test("a running client: it ends, and runs again with all its loops")
    func run() throws {
        let count = try cancelEverywhere { world, client in
            let token = try AppPushToken(.fcm, text: Self.token)
            let asked = Task(executorPreference: world.time.tasks) {
                try await client.register(token)
            }
            let end = Task(executorPreference: world.time.tasks) {
                await world.time.sleep(.seconds(30))
            }
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await withTaskCancellationHandler {
                await end.value
                running.cancel()
                _ = await running.result
            } onCancel: {
                running.cancel()
                end.cancel()
            }
            _ = await asked.result
        } _: { world, client, jobs in
            let started = world.time.now
            try await world.live(client, for: .seconds(20_000))
            #expect(world.headFetches.contains { $0 >= started && $0 < started + .seconds(2) })
            #expect(world.headFetches.count { $0 > started } > 2, "polling, \(jobs)")
            #expect(await client.status.registration == .registered, "\(jobs)")
            #expect(world.handler.matches.count == 1, "\(jobs)")
        }
        #expect(count > 50)
    }

    @Test("registering and unregistering: what is desired stays, and is brought about")
    func registration() throws {
        for isWanted in [true, false] {
            let count = try cancelEverywhere { world, client in
                let token = try AppPushToken(.fcm, text: Self.token)
                _ = try await client.register(token)
                if !isWanted { _ = try await client.unregister() }
            } _: { world, client, jobs in
                let after = await client.status.registration
                try await world.live(client, for: .seconds(30_000))
                let state = await client.status.registration
                #expect(state == .registered || state == .none, "\(jobs) \(after)")
                #expect(world.service.rows.count == (state == .registered ? 1 : 0), "\(jobs)")
                if world.service.deletes > 0 { #expect(state == .none, "\(jobs)") }
            }
            #expect(count >= 5)
        }
    }
}
