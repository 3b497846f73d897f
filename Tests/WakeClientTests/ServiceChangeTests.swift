import ReveilleTesting
import Synchronization
import Testing
import WakeFetch
import WakeSystem

@testable import Reveille

/// An instance token is for one service.
@Suite("A change of the service")
struct ServiceChangeTests {
    private static func token(_ text: String) throws -> AppPushToken {
        try AppPushToken(.fcm, text: Array(text.utf8))
    }

    /// A device with two services, of which the world's is the first.
    private final class Move: Sendable {
        let world: World
        let new = SimulatedService()
        private let order = Mutex<[String]>([])
        private let isDead = Mutex(false)

        init() throws { world = try World() }

        /// Host and method of each request with an instance token, and the token.
        var requests: [String] { order.withLock { $0 } }
        func kill(_ dead: Bool) { isDead.withLock { $0 = dead } }

        /// Registers at the old service, which then answers nothing more.
        func registerAndKill() async throws {
            _ = try await client(at: ServiceChangeTests.old)
                .register(ServiceChangeTests.token("a-push-token"))
            kill(true)
        }

        func client(at service: String?) throws -> WakeClient {
            var configuration = world.configuration()
            configuration.service = service
            var environment = world.environment
            let network = SimulatedNetwork(world.time) { [self] request in
                guard request.purpose == .registration else { return world.feed.route(request) }
                let host = String(decoding: request.url.bytes, as: UTF8.self)
                let isOld = host.hasPrefix("https://wake.example/")
                order.withLock { $0.append("\(isOld ? "old" : "new") \(request.method)") }
                if isOld, isDead.withLock({ $0 }) { return nil }
                return isOld ? world.service.route(request) : new.route(request)
            }
            environment.transport = { (_) throws(FetchError) in network }
            return try WakeClient(
                configuration, secrets: world.secrets, handler: world.handler,
                environment: environment)
        }
    }

    private static let old = "https://wake.example"
    private static let new = "https://wake.other"

    @Test("another service: the old row is deleted first, and the new one has another token")
    func moved() throws {
        let move = try Move()
        try move.world.time.run {
            var before: [UInt8]?
            do {
                let client = try move.client(at: Self.old)
                #expect(try await client.register(Self.token("a-push-token")) == .registered)
                before = try await client.instanceBytes
            }
            let client = try move.client(at: Self.new)
            #expect(await client.status.registration == .registering(failure: nil))
            #expect(await client.status.formerServices == 1)
            let after = try #require(try await client.instanceBytes)
            #expect(after != before)
            // Apart from the first cycle's requests, by up to ten minutes.
            try await move.world.live(client, for: .seconds(602))
            #expect(move.requests == ["old put", "old delete", "new put"])
            #expect(move.world.service.rows.isEmpty && move.new.rows.count == 1)
            #expect(await client.status.registration == .registered)
            #expect(await client.status.formerServices == 0)
            // Nothing of the old token is left in any file.
            let old = try #require(before)
            for (name, bytes) in try move.world.stateFiles() {
                let isLeft = bytes.contains(old)
                #expect(!isLeft, "\(name)")
            }
        }
    }

    @Test("an old service that is dead keeps nobody from the new one, and unregister waits for it")
    func dead() throws {
        let move = try Move()
        try move.world.time.run {
            try await move.registerAndKill()
            do {
                let client = try move.client(at: Self.new)
                try await move.world.live(client, for: .seconds(3600))
                #expect(move.new.rows.count == 1)
                #expect(await client.status.registration == .registered)
                #expect(await client.status.formerServices == 1)
                let state = try await client.unregister()
                guard case .unregistering = state else {
                    Issue.record("\(state)")
                    return
                }
                #expect(move.new.rows.isEmpty && move.world.service.rows.count == 1)
                await #expect(throws: ClientError.stillRegistered) { try await client.erase() }
            }
            // It comes back: across a restart, the old token does its work.
            move.kill(false)
            let client = try move.client(at: Self.new)
            try await move.world.live(client, for: .seconds(8 * 3600))
            #expect(move.world.service.rows.isEmpty)
            #expect(await client.status.registration == .none)
            #expect(await client.status.formerServices == 0)
            try await client.erase()
        }
    }

    @Test("a service that stays dead is given up after two of the longest generations")
    func expired() throws {
        let move = try Move()
        try move.world.time.run {
            try await move.registerAndKill()
            let client = try move.client(at: nil)
            #expect(await client.status.registration == .unregistering(failure: nil))
            try await client.reconcile()
            move.world.time.setWall(by: StateDatabase.longestLife - 60)
            try await client.reconcile()
            #expect(await client.status.formerServices == 1)
            let attempts = move.requests.count
            move.world.time.setWall(by: 61)
            try await client.reconcile()
            #expect(await client.status.formerServices == 0)
            #expect(await client.status.registration == .none)
            #expect(move.requests.count == attempts)
        }
    }

    @Test("the old token reaches no other service, also not by a question about what is stored")
    func stored() throws {
        let move = try Move()
        try move.world.time.run {
            do {
                let client = try move.client(at: Self.old)
                _ = try await client.register(Self.token("a-push-token"))
            }
            var configuration = move.world.configuration()
            configuration.service = Self.new
            let access = try ProfileAccess(configuration, environment: move.world.environment)
            #expect(try access.registration() == .registering(failure: nil))
            await #expect(throws: ClientError.notRegistered) {
                try await access.storedRegistration()
            }
            #expect(move.requests == ["old put"])
            // A wish that is left for the next start is for the configured service.
            try access.setDesired(Self.token("another-token"))
            #expect(try access.status().formerServices == 1)
            try access.setDesired(nil)
            guard case .unregistering = try access.registration() else {
                Issue.record("the old service has not been asked")
                return
            }
        }
    }

    @Test("crashes at every write of a change leave one row at most, and none with the old service")
    func crashes() throws {
        var deaths = 0
        for point in 0..<40 {
            let move = try Move()
            try move.world.time.run {
                let client = try move.client(at: Self.old)
                _ = try await client.register(Self.token("a-push-token"))
            }
            let crash = SimulatedCrash(of: move.world, at: point)
            try move.world.time.run {
                guard let client = try? move.client(at: Self.new) else { return }
                _ = try? await client.reconcile()
            }
            try crash.restore()
            if crash.hasCrashed { deaths += 1 }
            try move.world.time.run {
                let client = try move.client(at: Self.new)
                try await move.world.live(client, for: .seconds(86_400))
                #expect(await client.status.registration == .registered, "\(point)")
                #expect(await client.status.formerServices == 0, "\(point)")
            }
            #expect(move.world.service.rows.isEmpty && move.new.rows.count == 1, "\(point)")
        }
        #expect(deaths > 5)
    }
}
