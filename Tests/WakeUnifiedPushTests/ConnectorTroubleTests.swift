import Reveille
import Testing

@testable import WakeUnifiedPush

@Suite("The connector's patience")
struct ConnectorTroubleTests {
    private typealias World = MachineWorld

    @Test("who is unregistered registers again, five times, then is silent for a day and says so")
    func unregistered() {
        var world = World.standing()
        for time in 1...4 {
            #expect(world.call(.unregistered(token: World.token)) == [])
            let outputs = world.wait(.seconds(3600))
            #expect(outputs == [.register], "ending \(time)")
            world.take(.answered(.succeeded))
            world.newEndpoint(1)
        }
        #expect(world.adopted == [World.endpoint(1)])
        let last = world.call(.unregistered(token: World.token))
        #expect(last == [.withdraw(World.endpoint(1)), .warn(.unregistered)])
        #expect(world.wait(.seconds(11 * 3600)) == [])
        #expect(world.wait(.seconds(3 * 24 * 3600)) == [.register])
        // Healed: the endpoint is handed on again, since the service was told to forget it.
        world.take(.answered(.succeeded))
        #expect(world.newEndpoint(1).contains(.adopt(World.endpoint(1))))
    }

    @Test("endings that are days apart are forgiven")
    func forgiven() {
        var world = World.standing()
        for _ in 0..<20 {
            world.call(.unregistered(token: World.token))
            #expect(world.wait(.seconds(25 * 3600)) == [.register])
            world.take(.answered(.succeeded))
            world.newEndpoint(1)
        }
        #expect(world.notes.allSatisfy { $0 == nil } && world.adopted.count == 1)
    }

    @Test(
        "what only a person can mend is said at once, and asked for hourly",
        arguments: [
            (RegisterResponse.actionRequired, DistributorTrouble.actionRequired),
            (.vapidRequired, .vapidRequired), (.unsupported, .unsupported),
        ])
    func person(_ answer: RegisterResponse, _ trouble: DistributorTrouble) {
        var world = World()
        world.take(.connected(owner: World.distributor))
        #expect(world.take(.answered(answer)) == [.warn(trouble)])
        for _ in 0..<10 {
            #expect(world.wait(.seconds(3600)) == [.register])
            #expect(world.take(.answered(answer)) == [])
        }
        world.wait(.seconds(3600))
        world.take(.answered(.succeeded))
        #expect(world.newEndpoint(1).contains(.warn(nil)))
        #expect(world.machine.trouble == nil)
    }

    @Test("a registration without an endpoint is a failed one after a minute")
    func noEndpoint() {
        var world = World()
        world.take(.connected(owner: World.distributor))
        world.take(.answered(.succeeded))
        #expect(world.wait(.seconds(59)) == [])
        #expect(world.wait(.seconds(2)) == [])
        #expect(world.wait(.seconds(16)) == [.register])
    }

    @Test("no answer in time is forgiven when the endpoint came")
    func unanswered() {
        var world = World()
        world.take(.connected(owner: World.distributor))
        world.newEndpoint(1)
        world.take(.answered(.unanswered))
        #expect(world.machine.phase == .registered)
    }

    @Test("a distributor that is replaced while it is called is called again")
    func replaced() {
        var world = World()
        world.take(.connected(owner: World.distributor))
        world.take(.ownerChanged(Array(":1.9".utf8)))
        world.take(.answered(.succeeded))
        #expect(world.wait(.seconds(1)) == [.register])
    }

    @Test("a distributor that makes up endpoints gets five through, then the newest every minute")
    func madeUp() {
        var world = World.standing(0)
        for number in 1...10_000 {
            world.newEndpoint(number)
            world.wait(.milliseconds(60))
        }
        // Ten minutes.
        #expect((14...16).contains(world.adopted.count))
        world.wait(.seconds(120))
        #expect(world.adopted.last == World.endpoint(10_000))
    }

    @Test("an endpoint that could not be stored is offered again in a minute")
    func notStored() {
        var world = World.standing(1)
        world.take(.notAdopted(World.endpoint(1)))
        #expect(world.wait(.seconds(59)) == [])
        #expect(world.wait(.seconds(2)) == [.adopt(World.endpoint(1))])
    }

    @Test("neither machine, call nor error prints what it holds")
    func silent() {
        let world = World.standing(77)
        let call = ConnectorCall.newEndpoint(token: World.token, endpoint: World.text(77))
        for text in ["\(world.machine)", "\(call)", String(reflecting: call)] {
            #expect(!text.contains("push.example") && !text.contains("0123456789"))
        }
        var dumped = ""
        dump(world.machine, to: &dumped)
        dump(call, to: &dumped)
        #expect(!dumped.contains("example") && !dumped.contains("104"))
    }
}
