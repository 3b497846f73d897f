import ReveilleTesting
import TestSupport
import Testing
import WakeFeed
import WakePublish
import WakeSystem

@testable import Reveille

/// The cache may be emptied, damaged or too small at any time: what a secret that is added later
/// cannot be checked against any more is said.
@Suite("A cache that loses batches", .timeLimit(.minutes(5)))
struct LostCacheTests {
    private static let late = [UInt8](repeating: 9, count: 32)

    private func directory(_ world: World) -> String {
        world.cacheDirectory + "/" + world.feed.feedKey.feedID.text
    }

    private func kept(_ world: World) throws -> [String] {
        try Files.names(in: directory(world)).filter(FeedHead.isBatchName).sorted()
    }

    private func remove(_ world: World) throws {
        for name in try Files.names(in: directory(world)) {
            try Files.remove(directory(world) + "/" + name)
        }
        try Files.rename(directory(world), to: world.scratch.path + "/away-\(world.time.random())")
    }

    @Test("a directory that is removed while the client runs is made again")
    func heals() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client()
            try world.feed.publish([Self.late], note: "one")
            try await client.synchronize()
            try remove(world)
            try world.feed.publish([Self.late], note: "two")
            try await client.synchronize()
            #expect(try kept(world).count == 1)
            world.secrets.add("late", Self.late)
            try await client.synchronize()
        }
        #expect(world.handler.matches.map(\.sequence) == [2])
        #expect(world.handler.warnings == [.lostBatches(first: 1, last: 1)])
    }

    @Test("what a small cache or a flipped bit has lost is named when a secret is added, once")
    func named() throws {
        let world = try World()
        let cover = 8192 * 50 / 8 + 256
        var configuration = world.configuration()
        configuration.cacheCapacity = 4 * cover + 100
        try world.time.run { [configuration] in
            for _ in 0..<7 { try world.feed.publish([Self.late], digests: 8192, again: true) }
            let client = try WakeClient(
                configuration, secrets: world.secrets, handler: world.handler,
                environment: world.environment)
            try await client.synchronize()
            let file = directory(world) + "/" + (try kept(world)[2])
            var bytes = try Files.read(file, limit: 1 << 22)
            bytes[40_000] ^= 8
            try Files.replace(file, with: bytes.span)
            #expect(world.handler.warnings.isEmpty)
            let requests = world.network.traces.count
            world.secrets.add("late", Self.late)
            try await client.synchronize()
            // The head alone: nothing that is asked for depends on a secret.
            #expect(world.network.traces.count == requests + 1)
            try await client.synchronize()
        }
        #expect(
            world.handler.warnings == [
                .lostBatches(first: 1, last: 3), .lostBatches(first: 6, last: 6),
            ])
        #expect(world.handler.matches.map(\.sequence) == [7])
    }

    /// Lives with lost files, withheld batches and late secrets.
    @Test(
        "found is what an untouched client finds, or its batch was named",
        arguments: LongForm.seeds(12, long: 400))
    func lives(_ seed: UInt64) throws {
        let world = try World(seed: seed)
        let secrets = (1...4).map { [UInt8](repeating: UInt8($0), count: 32) }
        try world.time.run {
            var random = SplitMix64(seed: seed)
            var published: [UInt64: Int] = [:]
            var added = 0
            for step in 0..<60 {
                let draw = random.next()
                switch draw % 8 {
                case 0, 1:
                    let secret = Int(draw >> 8 % 4)
                    let note = "\(step)"
                    published[try world.feed.publish([secrets[secret]], note: note)] = secret
                case 2 where added < secrets.count:
                    world.secrets.add("\(added)", secrets[added])
                    added += 1
                case 3 where (try? kept(world).isEmpty) == false:
                    try damage(try kept(world), draw, in: world)
                case 4:
                    let withheld = draw >> 8 & 3
                    world.feed.tamper { path, _ in
                        let sequence = FeedHead.sequence(ofBatchName: String(path.dropFirst(2)))
                        return sequence.map { $0 % 4 == withheld } ?? false
                            ? .init(status: 404) : nil
                    }
                case 5: world.feed.tamper(nil)
                default: _ = try? await world.client().synchronize()
                }
            }
            world.feed.tamper(nil)
            for secret in secrets[added...] {
                world.secrets.add("\(added)", secret)
                added += 1
            }
            _ = try await world.client().synchronize()
            let found = Set(world.handler.matches.map(\.sequence))
            var named: Set<UInt64> = []
            for case .lostBatches(let first, let last) in world.handler.warnings {
                named.formUnion(first...last)
            }
            #expect(found.isSubset(of: published.keys))
            #expect(named.isSuperset(of: Set(published.keys).subtracting(found)))
            #expect(await status(world)?.unchecked == nil)
        }
    }

    /// Removes, cuts or changes one of the files, or takes the directory away.
    private func damage(_ names: [String], _ draw: UInt64, in world: World) throws {
        let file = directory(world) + "/" + names[Int(draw >> 8) % names.count]
        var bytes = try Files.read(file, limit: 1 << 22)
        switch draw >> 32 % 4 {
        case 0: try Files.remove(file)
        case 1: try remove(world)
        case 2: try Files.replace(file, with: Array(bytes.dropLast()).span)
        default:
            bytes[Int(draw >> 40) % bytes.count] ^= 1
            try Files.replace(file, with: bytes.span)
        }
    }
}
