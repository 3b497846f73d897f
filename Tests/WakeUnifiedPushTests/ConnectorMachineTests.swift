import Reveille
import Testing

@testable import WakeUnifiedPush

@Suite("The connector's rules")
struct ConnectorMachineTests {
    private typealias World = MachineWorld

    @Test("a connection registers, and the endpoint is handed on once")
    func registers() {
        var world = World()
        #expect(world.take(.connected(owner: nil)) == [.register])
        #expect(world.take(.ownerChanged(World.distributor)) == [])
        #expect(world.take(.answered(.succeeded)) == [])
        #expect(world.newEndpoint(1).contains(.adopt(World.endpoint(1))))
        #expect(world.machine.phase == .registered)
        for _ in 0..<100 { #expect(!world.newEndpoint(1).contains(.adopt(World.endpoint(1)))) }
        #expect(world.newEndpoint(2) == [.adopt(World.endpoint(2))])
        #expect(world.adopted == [World.endpoint(1), World.endpoint(2)])
    }

    @Test("an endpoint is registered with keys that are the same for all, when there is room")
    func endpointKeys() throws {
        let text = World.text(1)
        let endpoint = try #require(EndpointToken(unifiedPush: text))
        #expect(endpoint.text() == text)
        #expect(try endpoint != EndpointToken(.webPush, text: text))
        // 588 bytes are an endpoint's most, 506 of one with keys.
        for (count, hasKeys) in [(506, true), (507, false), (588, false)] {
            let long = text + Array(repeating: UInt8(ascii: "x"), count: count - text.count)
            let token = try #require(EndpointToken(unifiedPush: long))
            #expect(try (token != EndpointToken(.webPush, text: long)) == hasKeys)
        }
        let longer = text + Array(repeating: UInt8(ascii: "x"), count: 589 - text.count)
        #expect(EndpointToken(unifiedPush: longer) == nil)
        #expect(EndpointToken(unifiedPush: Array("http://push.example/up".utf8)) == nil)
    }

    @Test("the endpoint may come before the answer to the registration")
    func endpointFirst() {
        var world = World()
        world.take(.connected(owner: World.distributor))
        #expect(world.newEndpoint(1) == [.adopt(World.endpoint(1))])
        #expect(world.machine.phase == .calling)
        world.take(.answered(.succeeded))
        #expect(world.machine.phase == .registered && world.machine.next == nil)
    }

    @Test("what the service holds already is not handed on again after a restart")
    func restart() {
        var world = World(holding: World.endpoint(1))
        world.take(.connected(owner: World.distributor))
        world.take(.answered(.succeeded))
        world.newEndpoint(1)
        #expect(world.adopted.isEmpty && world.machine.phase == .registered)
    }

    @Test("a distributor that restarts all the time is called once a second")
    func flapping() {
        var world = World.standing()
        for number in 6..<106 {
            world.take(.ownerChanged(nil))
            world.take(.ownerChanged(Array(":1.\(number)".utf8)))
            world.take(.answered(.failed))
            world.wait(.milliseconds(100))
        }
        #expect(world.registrations <= 12)
    }

    @Test("a distributor that stays away is called again, less and less, and that is said once")
    func staysAway() {
        var world = World.standing()
        world.take(.ownerChanged(nil))
        var calls = 0
        for _ in 0..<(7 * 24) {
            for output in world.wait(.seconds(3600)) where output == .register {
                calls += 1
                world.take(.answered(.absent))
            }
        }
        // Full jitter at its middle: 30 s doubling to 3 hours.
        #expect((20...80).contains(calls))
        #expect(world.notes.compactMap { $0 } == [.absent])
        #expect(world.adopted.count == 1 && !world.outputs.contains(.withdraw(World.endpoint(1))))
    }

    @Test(
        "an endpoint that is none is refused without harm",
        arguments: [
            "", "https://", "not_an_url", "http://push.example/x", "https://127.0.0.1/x",
            "https://localhost/x", "https://push.example:8443/x", "https://push.example/\u{7F}",
            "https://push.example/a b", "https://push.example/ü", "https://push.example/../x",
            "https://push.example/" + String(repeating: "x", count: 568),
        ])
    func oddEndpoints(_ text: String) {
        var world = World.standing()
        let call = ConnectorCall.newEndpoint(token: World.token, endpoint: Array(text.utf8))
        #expect(world.call(call) == [])
        #expect(world.newEndpoint(1).allSatisfy { $0 == .warn(nil) })
        #expect(world.adopted.count == 1)
    }
}
