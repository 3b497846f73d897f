import Foundation
import ReveilleTesting
import Synchronization
import Testing
import WakeFeed

@testable import Reveille

/// A secret that is added later and the batches that were kept.
@Suite("Secrets added later", .timeLimit(.minutes(5)))
struct RecheckTests {
    private static let late = [UInt8](repeating: 9, count: 32)

    /// A client that has checked three batches, the second of which holds the late secret twice as
    /// published: in batches one and three as well.
    private func checked(_ world: World) async throws -> WakeClient {
        for note in ["one", "two", "three"] { try world.feed.publish([Self.late], note: note) }
        let client = try world.client()
        try await client.synchronize()
        return client
    }

    private func kept(_ world: World) throws -> [String] {
        try world.scratch.contents().keys.filter {
            $0.hasPrefix(world.cacheDirectory) && FeedHead.isBatchName(String($0.suffix(37)))
        }.sorted()
    }

    @Test("is found in every batch that was kept, note and all, without a request")
    func found() throws {
        let world = try World()
        try world.time.run {
            let client = try await checked(world)
            let requests = world.network.traces.count
            world.secrets.add("late", Self.late)
            #expect(try await client.recheckRetained() == 3)
            try await client.deliver()
            #expect(world.network.traces.count == requests)
        }
        #expect(
            Set(world.handler.matches.map(\.noteBytes))
                == Set(["one", "two", "three"].map { Array($0.utf8) }))
    }

    @Test(
        "a damaged batch is dropped and said, hides no other and brings about no request",
        arguments: [0, 1, 2, 3, 4])
    func damaged(kind: Int) throws {
        let world = try World()
        try world.time.run {
            let client = try await checked(world)
            let files = try kept(world)
            #expect(files.count == 3)
            let file = URL(filePath: files[1])
            var bytes = try Data(contentsOf: file)
            switch kind {
            case 0: bytes = Data()
            case 1: bytes = bytes.prefix(4096)
            case 2: bytes[bytes.count - 1] ^= 1
            case 3: bytes[300] ^= 1
            default: bytes[40] ^= 4
            }
            try bytes.write(to: file)
            let requests = world.network.traces.count
            world.secrets.add("late", Self.late)
            #expect(try await client.recheckRetained() == 2)
            #expect(try kept(world) == [files[0], files[2]])
            // The next cycle fetches the head as always, and does not fetch what is checked.
            try await client.synchronize()
            #expect(world.network.traces.count == requests + 1)
        }
        #expect(Set(world.handler.matches.map(\.sequence)) == [1, 3])
        let said = world.events.withLock { $0 }.filter { $0 == .keptBatchesDamaged(1) }
        #expect(said.count == 1)
    }
}
