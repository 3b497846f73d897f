import Glibc
import ReveilleTesting
import Testing
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

@testable import Reveille

@Suite("The state is private, held by one process, and survives damage")
struct StateTests {
    private static let secret = Array("only this device knows this".utf8)

    @Test("everything is made for its owner alone")
    func modes() throws {
        let world = try World()
        try world.feed.publishCover()
        try world.time.run {
            let client = try world.client()
            try await client.synchronize()
            #expect(try FileStatus(of: world.stateDirectory).mode == 0o700)
            for name in try Files.names(in: world.stateDirectory) {
                #expect(try FileStatus(of: world.stateDirectory + "/" + name).mode == 0o600)
            }
        }
        #expect(try FileStatus(of: world.cacheDirectory).mode == 0o700)
    }

    @Test("the state directory may be a link of its owner's, its files may not")
    func links() throws {
        let world = try World()
        try Files.makeDirectory(world.scratch.path + "/real")
        unsafe symlink(world.scratch.path + "/real", world.stateDirectory)
        _ = try world.client()
        unsafe unlink(world.stateDirectory)
        _ = try world.client()
        try Files.rename(world.stateDirectory + "/client.db", to: world.scratch.path + "/db")
        unsafe symlink(world.scratch.path + "/db", world.stateDirectory + "/client.db")
        #expect(throws: ClientError.state(.exposed)) { try world.client() }
    }

    @Test("a key of another feed is refused, and what is known of this one stays")
    func otherFeed() throws {
        let world = try World()
        try world.feed.publishCover()
        try world.time.run { try await world.client().synchronize() }
        var configuration = world.configuration()
        configuration.feedKey = try SimulatedFeed(
            world.scratch.path + "/other", world.time, keySeed: 5
        ).feedKey.text
        try world.time.run { [configuration] in
            let other = try WakeClient(
                configuration, secrets: world.secrets, handler: world.handler,
                environment: world.environment)
            await #expect(throws: ClientError.wrongFeed) { try await other.synchronize() }
            #expect(await other.status.sequence == 1)
        }
        try world.time.run {
            let client = try world.client()
            #expect(try await client.synchronize() == .upToDate)
        }
    }

    @Test("configurations that cannot work are refused, each by its name")
    func configurations() throws {
        let world = try World()
        func fault(_ change: (inout ClientConfiguration) -> Void) -> ClientError? {
            var configuration = world.configuration(.stream)
            change(&configuration)
            do throws(ClientError) {
                try configuration.check()
                return nil
            } catch {
                return error
            }
        }
        #expect(fault { _ in } == nil)
        #expect(fault { $0.feed = "http://feed.example/" } == .configuration(.feedURL))
        #expect(fault { $0.feed = "ftp://feed.example/" } == .configuration(.feedURL))
        #expect(fault { $0.feed = "http://127.0.0.1:1/feed/" } == nil)
        #expect(fault { $0.service = "wake.example" } == .configuration(.serviceURL))
        #expect(fault { $0.service = nil } == .configuration(.serviceMissing))
        #expect(fault { $0.feedKey += "A" } == .configuration(.feedKey))
        #expect(fault { $0.feedKey = "" } == .configuration(.feedKey))
    }

    @Test("another process changes the desired registration, and the running one brings it about")
    func access() throws {
        let world = try World()
        let token = Array("a-token-that-nobody-else-has-0123456789".utf8)
        try world.time.run {
            let client = try world.client()
            try await world.live(client, for: .seconds(7200)) {
                await world.time.sleep(.seconds(10))
                let access = try ProfileAccess(
                    world.configuration(), environment: world.environment)
                #expect(try access.registration() == .none)
                try access.setDesired(try .init(.fcm, text: token))
                #expect(try access.registration() == .registering(failure: nil))
                // The notification comes outside of simulated time; its effect is made here.
                try await client.reconcile()
                #expect(try access.registration() == .registered)
                #expect(try await access.storedRegistration().row?.token.text() == token)
                #expect(try access.status().registration == .registered)
                try access.setDesired(nil)
                try await client.reconcile()
                #expect(try access.registration() == .none)
            }
        }
        #expect(world.service.rows.isEmpty)
    }

    @Test("erasing forgets everything, but not while the service may hold a registration")
    func erase() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publish([Self.secret])
        try world.time.run {
            let client = try world.client()
            try await client.synchronize()
            _ = try await client.register(try .init(.fcm, text: Self.secret.map { $0 | 0x40 }))
            await #expect(throws: ClientError.stillRegistered) { try await client.erase() }
            try await client.erase(force: true)
            #expect(await client.status.sequence == 0)
            #expect(await client.status.registration == .none)
        }
        #expect(
            try Files.names(in: world.cacheDirectory + "/" + world.feed.feedKey.feedID.text) == [])
    }

    @Test("secrets in files: added, listed, lent, removed, and refused when others can read them")
    func secretFiles() throws {
        let scratch = try Scratch()
        let state = scratch.path + "/state"
        let secrets = SecretDirectory(stateDirectory: state)
        #expect(try secrets.names() == [])
        #expect(try secrets.generation() == 0)
        try secrets.add(Self.secret.span, named: "visit")
        #expect(try secrets.generation() == 1)
        #expect(throws: SecretDirectory.Fault.exists) {
            try secrets.add((Self.secret + [1]).span, named: "visit")
        }
        for name in ["", ".hidden", "a/b", "..", String(repeating: "a", count: 65)] {
            #expect(throws: SecretDirectory.Fault.name) {
                try secrets.add(Self.secret.span, named: name)
            }
        }
        #expect(throws: SecretDirectory.Fault.size) {
            try secrets.add([UInt8](repeating: 1, count: 15).span, named: "short")
        }
        var lent: [String: [UInt8]] = [:]
        try secrets.lend { lent[$0] = Array(copying: $1) }
        #expect(lent == ["visit": Self.secret])
        unsafe chmod(state + "/secrets/visit", 0o640)
        #expect(throws: SecretDirectory.Fault.unusable) { try secrets.lend { _, _ in } }
        unsafe chmod(state + "/secrets/visit", 0o600)
        try secrets.remove(named: "visit")
        #expect(throws: SecretDirectory.Fault.missing) { try secrets.remove(named: "visit") }
        #expect(try secrets.names() == [])
    }
}
