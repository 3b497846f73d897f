import Reveille

@testable import WakeUnifiedPush

/// A machine with a clock and a distributor, and everything it ever asked for.
struct MachineWorld {
    static let token = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFG".utf8)
    static let distributor = Array(":1.5".utf8)

    var machine: ConnectorMachine
    var now = Duration.zero
    var random = 0.5
    private(set) var outputs: [ConnectorMachine.Output] = []

    init(holding endpoint: EndpointToken? = nil) {
        machine = ConnectorMachine(token: Self.token, endpoint: endpoint)
    }

    static func endpoint(_ number: Int) -> EndpointToken {
        guard let token = EndpointToken(unifiedPush: text(number)) else {
            preconditionFailure("no endpoint")
        }
        return token
    }

    static func text(_ number: Int) -> [UInt8] { Array("https://push.example/up/\(number)".utf8) }

    /// - Returns: what this input alone led to.
    @discardableResult
    mutating func take(_ input: ConnectorMachine.Input) -> [ConnectorMachine.Output] {
        let new = machine.update(input, at: now, random: random)
        outputs += new
        return new
    }

    @discardableResult
    mutating func call(
        _ call: ConnectorCall, by sender: [UInt8]? = distributor
    ) -> [ConnectorMachine.Output] {
        take(.called(call, by: sender))
    }

    @discardableResult
    mutating func newEndpoint(
        _ number: Int, token: [UInt8] = token, by sender: [UInt8]? = distributor
    ) -> [ConnectorMachine.Output] {
        call(.newEndpoint(token: token, endpoint: Self.text(number)), by: sender)
    }

    /// Waits, telling the time whenever the machine wants to know it.
    @discardableResult
    mutating func wait(_ duration: Duration) -> [ConnectorMachine.Output] {
        let end = now + duration
        var new: [ConnectorMachine.Output] = []
        while let next = machine.next, next <= end {
            now = max(now, next)
            new += take(.timePassed)
        }
        now = end
        return new
    }

    /// Registered, with this endpoint.
    static func standing(_ number: Int = 1) -> MachineWorld {
        var world = MachineWorld()
        world.take(.connected(owner: distributor))
        world.take(.answered(.succeeded))
        world.newEndpoint(number)
        return world
    }

    var adopted: [EndpointToken] {
        outputs.compactMap { if case .adopt(let endpoint) = $0 { endpoint } else { nil } }
    }

    var registrations: Int { outputs.count { $0 == .register } }
    var wakes: Int { outputs.count { $0 == .wake } }
    var notes: [DistributorTrouble?] {
        outputs.compactMap { if case .warn(let trouble) = $0 { .some(trouble) } else { nil } }
    }
}
