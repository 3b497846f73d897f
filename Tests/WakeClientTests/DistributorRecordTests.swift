import ReveilleTesting
import Testing
import WakeFetch
import WakeModel

@testable import Reveille

@Suite("Endpoints that a distributor gives", .timeLimit(.minutes(5)))
struct DistributorRecordTests {
    private static let name = "org.unifiedpush.Distributor.one"

    private static func endpoint(_ number: Int) throws -> AppPushToken {
        try AppPushToken(.webPush, text: Array("https://push.example/up/\(number)".utf8))
    }

    @Test("an endpoint is one PUT, however often it comes and the client restarts")
    func once() throws {
        let world = try World()
        for start in 0..<3 {
            try world.time.run {
                let client = try world.client()
                try await world.live(client, for: .seconds(3600)) {
                    let record = try await client.distributor(named: Self.name)
                    for _ in 0..<100 {
                        let use = try await client.adopt(try Self.endpoint(1), from: record)
                        #expect(use == .known || start == 0)
                        await world.time.sleep(.seconds(1))
                    }
                }
            }
        }
        #expect(world.service.puts == 1 && world.service.rows.count == 1)
        try world.time.run {
            let client = try world.client()
            try await world.live(client, for: .seconds(3600)) {
                let record = try await client.distributor(named: Self.name)
                #expect(try await client.adopt(try Self.endpoint(2), from: record) == .new)
                #expect(try await client.adopt(try Self.endpoint(2), from: record) == .known)
            }
        }
        #expect(world.service.puts == 2 && world.service.rows.count == 1)
    }

    @Test(
        "the connection token is random, the same at every start, and new for another distributor")
    func token() throws {
        let (world, other) = (try World(seed: 1), try World(seed: 2))
        func record(_ world: World, _ name: String) throws -> DistributorRecord {
            try world.time.run { try await world.client().distributor(named: name) }
        }
        let first = try record(world, Self.name)
        #expect(first.token.count == 43)
        #expect(try record(world, Self.name) == first)
        let second = try record(world, "org.unifiedpush.Distributor.two")
        #expect(second.token != first.token && second.name != first.name)
        #expect(try record(other, Self.name).token != first.token)
        // Of the one before, no file has a byte.
        for (_, bytes) in try world.stateFiles() { #expect(!bytes.holds(first.token.copy())) }
        #expect(try world.stateFiles().contains { $1.holds(second.token.copy()) })
        #expect("\(second)".contains("secret bytes") && !"\(second)".contains("Optional"))
    }

    @Test("after unregister an endpoint is not wanted, and no file holds the connection token")
    func unregistered() throws {
        let world = try World()
        let record = try world.time.run {
            let client = try world.client()
            let record = try await client.distributor(named: Self.name)
            #expect(try await client.adopt(try Self.endpoint(1), from: record) == .new)
            try await client.reconcile()
            #expect(try await client.unregister() == .none)
            #expect(try await client.adopt(try Self.endpoint(2), from: record) == .unwanted)
            #expect(try await client.has(record) == false)
            return record
        }
        #expect(world.service.rows.isEmpty && world.service.puts == 1)
        for (_, bytes) in try world.stateFiles() { #expect(!bytes.holds(record.token.copy())) }
    }

    @Test("an unregistration by another process is seen by the running one")
    func besides() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client()
            let record = try await client.distributor(named: Self.name)
            let access = try ProfileAccess(world.configuration(), environment: world.environment)
            #expect(try access.distributor() == record && (try access.pushService()) == nil)
            #expect(try await client.adopt(try Self.endpoint(1), from: record) == .new)
            #expect(try access.pushService() == .webPush)
            try access.setDesired(nil)
            #expect(try await client.adopt(try Self.endpoint(1), from: record) == .unwanted)
        }
    }

    @Test("a dead endpoint is withdrawn, another one registered later, and nobody else's touched")
    func withdrawn() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client()
            let record = try await client.distributor(named: Self.name)
            _ = try await client.adopt(try Self.endpoint(1), from: record)
            try await client.reconcile()
            try await client.withdraw(try Self.endpoint(2), from: record)
            try await client.reconcile()
            #expect(world.service.rows.count == 1)
            try await client.withdraw(try Self.endpoint(1), from: record)
            try await client.reconcile()
            #expect(world.service.rows.isEmpty && world.service.deletes == 1)
            #expect(try await client.adopt(try Self.endpoint(3), from: record) == .new)
            try await client.reconcile()
            #expect(world.service.rows.count == 1)
        }
    }

    @Test("trouble is a warning once, across restarts, and again when it comes back")
    func warnsOnce() throws {
        let world = try World()
        func warn(_ trouble: Warning.DistributorTrouble?) throws {
            try world.time.run {
                let client = try world.client()
                try await world.live(client, for: .seconds(60)) {
                    try await client.warnOfDistributor(trouble)
                    try await client.warnOfDistributor(trouble)
                }
            }
        }
        try warn(.actionRequired)
        try warn(.actionRequired)
        #expect(world.handler.warnings == [.distributorFails(.actionRequired)])
        try warn(nil)
        try warn(.absent)
        #expect(
            world.handler.warnings
                == [.distributorFails(.actionRequired), .distributorFails(.absent)])
    }
}
