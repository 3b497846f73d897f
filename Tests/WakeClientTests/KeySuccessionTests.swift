import ReveilleTesting
import Testing
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

@testable import Reveille

@Suite("A feed whose key changes")
struct KeySuccessionTests {
    private static let day: Int64 = 86_400
    private static let secret = [UInt8](repeating: 0x5E, count: 32)

    /// A feed's publisher: its key is in a file, as the commands have it.
    private struct Publisher {
        let world: World
        let keyFile: String
        private(set) var keys: [FeedKey]

        init(_ world: World) throws {
            self.world = world
            keyFile = world.scratch.path + "/feed.key"
            keys = [world.feed.feedKey]
            let seed = [UInt8](repeating: 1, count: 32)
            try Files.create(
                keyFile, with: (Base64URL.encode(seed.span) + [UInt8(ascii: "\n")]).span)
        }

        mutating func succeed() throws {
            _ = try FeedSuccession(directory: world.feed.directory, keyFile: keyFile)
                .run(now: world.time.wall)
            keys.append(FeedKey(try FeedKeyFile.load(keyFile).verifyingKey))
        }

        func publish(_ secrets: [[UInt8]]) throws {
            let lines = secrets.map { Hex.encode($0.span) + [UInt8(ascii: "\n")] }.flatMap(\.self)
            _ = try FeedPublisher(
                directory: world.feed.directory, key: FeedKeyFile.load(keyFile)
            ).publish(try FeedInput(secretsFrom: lines), now: world.time.wall)
        }
    }

    private func client(_ world: World, _ name: String, key: FeedKey) throws -> WakeClient {
        var configuration = world.configuration()
        configuration.feedKey = key.text
        if !name.isEmpty {
            configuration.stateDirectory += name
            configuration.cacheDirectory += name
        }
        return try WakeClient(
            configuration, secrets: world.secrets, handler: world.handler,
            environment: world.environment)
    }

    /// The paths that one look asks for, and its outcome.
    private func look(_ client: WakeClient, _ world: World) async throws -> (
        paths: [String], outcome: SyncOutcome
    ) {
        let before = world.network.traces.count
        let outcome = try await client.synchronize()
        return (world.network.traces.dropFirst(before).map(\.path), outcome)
    }

    @Test("off over three successions, or new with any key: all find the match, by like requests")
    func arrive() throws {
        let world = try World()
        var publisher = try Publisher(world)
        try publisher.publish([[UInt8](repeating: 1, count: 32)])
        world.secrets.add("visit", Self.secret)
        try world.time.run { [keys = publisher.keys] in
            // Known before; one will be configured anew by an update while it is off.
            for name in ["", "-updated"] {
                _ = try await client(world, name, key: keys[0]).synchronize()
            }
        }
        for number: UInt8 in 2...4 {
            world.time.setWall(by: 20 * Self.day)
            try publisher.succeed()
            try publisher.publish([[UInt8](repeating: number, count: 32)])
        }
        try publisher.publish([Self.secret])
        let keys = publisher.keys
        try world.time.run {
            var all: [[String]] = []
            for (name, key) in [("", keys[0]), ("-updated", keys[3])] {
                let look = try await look(try client(world, name, key: key), world)
                #expect(look.outcome == .checked(batches: 2, matches: 1), "\(name)")
                all.append(look.paths)
            }
            for (index, key) in keys.enumerated() {
                let client = try client(world, "-\(index)", key: key)
                let first = try await look(client, world)
                #expect(first.outcome == .checked(batches: 2, matches: 1), "\(index)")
                all.append(first.paths)
                #expect(try await look(client, world).paths.count == 1)
            }
            #expect(Set(all).count == 1, "nothing tells who is behind")
        }
        #expect(Set(world.handler.matches.map(\.id)).count == 1)
        #expect(world.handler.warnings.allSatisfy { if case .gap = $0 { true } else { false } })
    }

    @Test("a head of an unknown key without the file keys is trouble of the host, not a forgery")
    func withheld() throws {
        let world = try World()
        var publisher = try Publisher(world)
        try world.time.run {
            let client = try client(world, "", key: world.feed.feedKey)
            _ = try await client.synchronize()
        }
        try publisher.succeed()
        try publisher.publish([Self.secret])
        try world.time.run { [keys = publisher.keys] in
            let client = try client(world, "", key: keys[0])
            world.feed.tamperKeys { _, _ in .init(status: 503) }
            let failure = ClientError.httpStatus(503, retryAfter: nil)
            await #expect(throws: failure) { try await client.synchronize() }
            // Missing, or another feed's: then the head is signed by nobody who is known.
            world.feed.tamperKeys { _, _ in .init(status: 404) }
            await #expect(throws: ClientError.badSignature) { try await client.synchronize() }
            world.feed.tamperKeys { _, bytes in .init(body: bytes.map { $0 ^ 1 }) }
            await #expect(throws: ClientError.badSignature) { try await client.synchronize() }
            world.feed.tamperKeys(nil)
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 0))
        }
    }

    @Test("a host that has no file keys serves everybody who needs none")
    func absent() throws {
        let world = try World()
        try world.feed.publishCover()
        try Files.remove(world.feed.directory + "/keys")
        try world.time.run {
            let client = try world.client()
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 0))
            #expect(try await client.synchronize() == .upToDate)
        }
        #expect(world.network.traces.count { $0.path.hasSuffix("/keys") } == 1)
    }
}
