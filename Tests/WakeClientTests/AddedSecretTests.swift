import ReveilleTesting
import TestSupport
import Testing
import WakeFeed
import WakePublish
import WakeSystem

@testable import Reveille

/// Three secrets that are added at once by a process that is killed.
@Suite("Secrets that are added", .timeLimit(.minutes(5)))
struct AddedSecretTests {
    private static let old = Array("a secret of before".utf8)
    private static let new = (1...3).map { (name: "new-\($0)", secret: bytes($0)) }

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private func client(_ world: World) throws -> WakeClient {
        try WakeClient(
            world.configuration(), secrets: directory(world), handler: world.handler,
            environment: world.environment)
    }

    private func directory(_ world: World) -> SecretDirectory {
        SecretDirectory(stateDirectory: world.stateDirectory)
    }

    /// A world with one secret and a feed with a batch for each of the others, which was checked.
    private func world() throws -> World {
        let world = try World()
        try directory(world).add(Self.old.span, named: "old")
        for (name, secret) in Self.new { try world.feed.publish([secret], note: name) }
        try world.time.run { try await client(world).synchronize() }
        return world
    }

    private func lent(_ world: World) throws -> [String: [UInt8]] {
        var lent: [String: [UInt8]] = [:]
        try directory(world).lend { lent[$0] = Array(copying: $1) }
        return lent
    }

    @Test("killed at every system call: all or none, can be repeated, the past is checked for all")
    func killed() throws {
        let all = Dictionary(uniqueKeysWithValues: Self.new.map { ($0.name, $0.secret) })
            .merging(["old": Self.old]) { $1 }
        var (deaths, whole, isOver) = (0, 0, false)
        while !isOver {
            let world = try world()
            let before = try directory(world).generation()
            let worker = StoreWorkerProcess(
                "secrets", data: world.stateDirectory, keys: "-", [deaths + 1])
            isOver = worker.lines() == ["added"]
            #expect(worker.finish() == (isOver ? 0 : 128 + 9))
            deaths += isOver ? 0 : 1
            let there = try lent(world)
            let isWhole = there == all
            #expect(isWhole || there == ["old": Self.old], "call \(deaths)")
            #expect(try directory(world).names() == there.keys.sorted(), "call \(deaths)")
            #expect(try directory(world).generation() == before + (isWhole ? 1 : 0))
            whole += isWhole ? 1 : 0
            try world.time.run { [deaths] in
                try await client(world).synchronize()
                #expect(world.handler.matches.count == (isWhole ? 3 : 0), "call \(deaths)")
                try directory(world).add(Self.new)
                try await client(world).synchronize()
            }
            #expect(world.handler.matches.count == 3, "call \(deaths)")
            #expect(try lent(world) == all)
            let files = try Files.names(in: world.stateDirectory + "/secrets")
            #expect(Set(files) == Set(all.keys).union([".generation", ".lock"]))
        }
        #expect(deaths > 20 && whole > 10)
    }

    @Test("the same name with other bytes, and the same bytes under another name, are refused")
    func refused() throws {
        let world = try World()
        let secrets = directory(world)
        try secrets.add(Self.new)
        try secrets.add(Self.new)
        #expect(throws: SecretDirectory.Fault.exists) {
            try secrets.add([("other", Self.bytes(9)), ("new-1", Self.bytes(8))])
        }
        #expect(throws: SecretDirectory.Fault.same(as: "new-2")) {
            try secrets.add([("another", Self.bytes(2))])
        }
        #expect(try secrets.names() == ["new-1", "new-2", "new-3"])
        #expect(try secrets.generation() == 1)
    }

    @Test("a removed secret is gone, and when all are removed nothing is left")
    func removed() throws {
        let world = try World()
        let secrets = directory(world)
        try secrets.add(Self.new)
        try secrets.remove(named: "new-2")
        #expect(try secrets.names() == ["new-1", "new-3"])
        try secrets.removeAll()
        #expect(try Files.names(in: world.stateDirectory + "/secrets") == [])
    }
}
