import Reveille
import TestSupport
import Testing

@testable import WakeUnifiedPush

@Suite("Whatever happens on the bus", .timeLimit(.minutes(5)))
struct ConnectorPropertyTests {
    private typealias World = MachineWorld

    /// What an observer of the bus knows to be allowed.
    private struct Observer {
        var isConnected = false
        var wasConnected = false
        var owner: [UInt8]?
        var isCalled = false
        /// What the owner last told, with our token.
        var told: EndpointToken?
        var held: EndpointToken?
        var changes = 0
        var adoptions = 0
        /// A push came, or the bus came back, and no wake since.
        var isPushed = false
    }

    private func step(_ world: inout World, _ seen: inout Observer, _ random: inout SplitMix64) {
        world.random = Double.random(in: 0..<1, using: &random)
        let isOwner = Int.random(in: 0..<4, using: &random) > 0
        let sender = isOwner ? seen.owner : Array(":1.666".utf8)
        let isToken = Int.random(in: 0..<4, using: &random) > 0
        let token = isToken ? World.token : Array("foreign".utf8)
        let isBelieved = isToken && sender != nil && sender == seen.owner && seen.isConnected
        let outputs: [ConnectorMachine.Output]
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            let owner = Bool.random(using: &random) ? World.distributor : nil
            if seen.wasConnected { seen.isPushed = true }
            (seen.isConnected, seen.wasConnected, seen.isCalled) = (true, true, false)
            seen.owner = owner
            outputs = world.take(.connected(owner: owner))
        case 1 where seen.isConnected:
            (seen.isConnected, seen.isCalled, seen.owner) = (false, false, nil)
            outputs = world.take(.disconnected)
        case 2 where seen.isConnected:
            let owners: [[UInt8]?] = [nil, World.distributor, Array(":1.7".utf8)]
            let owner = owners[Int.random(in: 0..<3, using: &random)]
            seen.owner = owner
            outputs = world.take(.ownerChanged(owner))
        case 3, 4:
            let answers: [RegisterResponse] = [
                .succeeded, .succeeded, .failed, .actionRequired, .vapidRequired, .absent,
                .unsupported, .unanswered,
            ]
            seen.isCalled = false
            let answer = answers[Int.random(in: 0..<answers.count, using: &random)]
            outputs = world.take(.answered(answer))
        case 5, 6:
            let number = Int.random(in: 0..<3, using: &random)
            if isBelieved {
                let endpoint = World.endpoint(number)
                if endpoint != seen.told { seen.changes += 1 }
                seen.told = endpoint
            }
            outputs = world.newEndpoint(number, token: token, by: sender)
        case 7:
            if isBelieved { seen.isPushed = true }
            outputs = world.call(.message(token: token, id: nil), by: sender)
            #expect(outputs.contains(.acknowledge) == isBelieved)
        case 8:
            outputs = world.call(.unregistered(token: token), by: sender)
        default:
            outputs = world.wait(.seconds(Int.random(in: 0..<4000, using: &random)))
        }
        check(outputs, &seen)
    }

    private func check(
        _ outputs: [ConnectorMachine.Output], _ seen: inout Observer
    ) {
        for output in outputs {
            switch output {
            case .register:
                #expect(seen.isConnected && !seen.isCalled, "one registration at a time")
                seen.isCalled = true
            case .adopt(let endpoint):
                #expect(endpoint == seen.told, "only what the owner told, and told last")
                #expect(endpoint != seen.held, "only what is new")
                seen.held = endpoint
                seen.adoptions += 1
            case .withdraw(let endpoint):
                #expect(endpoint == seen.held)
                (seen.held, seen.told) = (nil, nil)
            case .wake:
                #expect(seen.isPushed, "no wake without a push")
                seen.isPushed = false
            case .acknowledge, .warn: break
            }
        }
        #expect(seen.adoptions <= seen.changes, "at most once for each change")
    }

    @Test(
        "an endpoint is adopted at most once a change, and never from a stranger", arguments: 0..<8)
    func invariants(_ lane: UInt64) {
        for run in 0..<250 {
            var random = SplitMix64(seed: lane << 32 | UInt64(run))
            var world = World()
            var seen = Observer()
            for _ in 0..<200 { step(&world, &seen, &random) }
        }
    }

    @Test(
        "whatever happened, a well-behaved distributor ends it with its endpoint", arguments: 0..<4)
    func heals(_ lane: UInt64) {
        for run in 0..<250 {
            var random = SplitMix64(seed: lane << 32 | UInt64(run) | 1 << 60)
            var world = World()
            var seen = Observer()
            for _ in 0..<100 { step(&world, &seen, &random) }
            world.take(.disconnected)
            world.take(.connected(owner: World.distributor))
            world.take(.answered(.succeeded))
            world.newEndpoint(9)
            world.wait(.seconds(120))
            #expect(world.machine.phase == .registered)
            #expect(world.adopted.last == World.endpoint(9))
        }
    }
}
