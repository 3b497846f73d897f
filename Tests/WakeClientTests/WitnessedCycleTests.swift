import Foundation
import ReveilleTesting
import Testing
import WakeFeed
import WakeFetch
import WakeModel
import WakePublish
import WakeSystem

@testable import Reveille

@Suite("Clients with witnesses")
struct WitnessedCycleTests {
    private static let secret = Array("a secret of sixteen bytes and more".utf8)

    /// Three witnesses that cosign what they are shown; honesty is a matter of theirs.
    private struct Witnesses {
        let signers: [NoteSigner]

        init() throws {
            signers = try (0..<3).map { index in
                let seed = [UInt8](repeating: UInt8(200 + index), count: 32)
                return NoteSigner(
                    name: try #require(NoteKeyName("w\(index).example")),
                    key: SigningKey(seed: seed.span))
            }
        }

        var policy: String {
            signers.enumerated().map { index, signer in
                "witness w\(index) \(signer.verifier(.cosignature).text)\n"
            }.joined() + "group two 2 w0 w1 w2\nquorum two\n"
        }

        /// Publishes a batch with the secret under the cosignatures of so many.
        func publish(
            _ world: World, in directory: String? = nil, cosigners: Int, time: Int64? = nil
        ) throws {
            let directory = directory ?? world.feed.directory
            let now = time ?? world.time.wall
            let lines = Hex.encode(secret.span) + [UInt8(ascii: "\n")]
            let chosen = signers.prefix(cosigners)
            let publisher = FeedPublisher(
                directory: directory, key: world.feed.key,
                witnesses: { submission throws(FeedDirectoryError) in
                    chosen.map { $0.cosign(submission.checkpoint.checkpoint.text, time: now) }
                })
            _ = try publisher.publish(
                FeedInput(secretsFrom: lines, notes: nil), options: PublishOptions(again: true),
                now: world.time.wall)
        }
    }

    private static func client(_ world: World, _ policy: String?) throws -> WakeClient {
        var configuration = world.configuration()
        configuration.witnesses = policy
        return try WakeClient(
            configuration, secrets: world.secrets, handler: world.handler,
            environment: world.environment)
    }

    @Test("a head is believed with a quorum and refused without one, and warned of once")
    func quorum() throws {
        let world = try World()
        let witnesses = try Witnesses()
        world.secrets.add("visit", Self.secret)
        try world.time.run {
            let client = try Self.client(world, witnesses.policy)
            try witnesses.publish(world, cosigners: 1)
            for _ in 0..<2 {
                await #expect(throws: ClientError.unwitnessed(.noQuorum)) {
                    try await client.synchronize()
                }
            }
            #expect(world.handler.warnings == [.noQuorum] && world.handler.matches.isEmpty)
            try witnesses.publish(world, cosigners: 2)
            #expect(try await client.synchronize() == .checked(batches: 2, matches: 1))
            #expect(try await client.synchronize() == .upToDate)
            try witnesses.publish(world, cosigners: 0)
            await #expect(throws: ClientError.unwitnessed(.noQuorum)) {
                try await client.synchronize()
            }
            #expect(await client.status.sequence == 2)
            try witnesses.publish(
                world, cosigners: 3, time: world.time.wall - 30 * 86_400)
            #expect(try await client.synchronize() == .checked(batches: 2, matches: 0))
            #expect(world.handler.warnings == [.noQuorum, .noQuorum, .staleCosignature])
        }
    }

    @Test("another history is refused for good, with evidence, and clients without a policy go on")
    func otherHistory() throws {
        let world = try World()
        let witnesses = try Witnesses()
        let twin = world.scratch.path + "/twin"
        try world.time.run {
            try witnesses.publish(world, cosigners: 3)
            try FileManager.default.copyItem(atPath: world.feed.directory, toPath: twin)
            try witnesses.publish(world, cosigners: 3)
            let client = try Self.client(world, witnesses.policy)
            try await client.synchronize()
            // Signed and cosigned, and of a log that lacks what this client has seen.
            let stale = try FeedDirectory(world.feed.directory).headFile()
            for _ in 0..<3 { try witnesses.publish(world, in: twin, cosigners: 3) }
            try FileManager.default.removeItem(atPath: world.feed.directory)
            try FileManager.default.copyItem(atPath: twin, toPath: world.feed.directory)
            #expect(try FeedDirectory(world.feed.directory).headFile() != stale)
            let error = await #expect(throws: ClientError.self) {
                try await client.synchronize()
            }
            // The batches contradict as well, which every client sees.
            #expect(error == .fork || error == .unwitnessed(.otherHistory))
        }
    }

    @Test("requests: byte-identical with a policy and without, whatever comes of them")
    func requests() throws {
        func requests(_ hasPolicy: Bool) throws -> [[UInt8]] {
            let world = try World(seed: 7)
            let witnesses = try Witnesses()
            world.secrets.add("visit", Self.secret)
            try world.time.run {
                let client = try Self.client(world, hasPolicy ? witnesses.policy : nil)
                for _ in 0..<4 {
                    try witnesses.publish(world, cosigners: 3)
                    try await client.synchronize()
                }
            }
            return world.network.requests.map { request in
                let url = String(decoding: request.url.bytes, as: UTF8.self)
                // Names of batches hold random bytes.
                let place = url.firstRange(of: "/b/").map { String(url[..<$0.upperBound]) } ?? url
                let fields = request.fields.map { "\($0.name)" }.joined(separator: ",")
                let body = request.body?.count ?? 0
                return Array("\(request.method) \(place) \(fields) \(body) \(request.limit)".utf8)
            }
        }
        let (with, without) = (try requests(true), try requests(false))
        #expect(with == without)
        #expect(with.count == 9, "the keys; four times head and batch")
    }

    @Test("a policy that is none, or that nothing can meet, is refused before anything is made")
    func configuration() throws {
        let world = try World()
        for (text, line) in [("quorum none\nquorum none\n", 2), ("", 1), ("nonsense\n", 1)] {
            var configuration = world.configuration()
            configuration.witnesses = text
            #expect(throws: ClientError.configuration(.witnesses(line: line))) {
                try configuration.check()
            }
        }
    }
}
