import Testing
import WakeModel
import WakePush
import WakeSystem

@testable import WakeServer

@Suite("Which push tokens may be registered")
struct AdmissionTests {
    /// Takes endpoints of one host.
    private struct FakeGateway: Gateway {
        let service: PushService
        var host = ""
        var wakesTokens = true
        var connections: Int { 1 }
        var window: Int { 1 }

        func open(
            lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
        ) -> any GatewaySession {
            FakeSession()
        }

        var refusal = EndpointRefusal.hostNotAllowed

        func refusal(of token: PushToken) -> EndpointRefusal? {
            token.bytes.copy().starts(with: Array("https://\(host)/".utf8)) ? nil : refusal
        }
    }

    private final class FakeSession: GatewaySession {
        func send(_ wakeUps: [WakeUp]) {}
        func flush(isFinal: Bool) {}
        func tick() {}
        var inFlight: Int { 0 }
        func quiesce() -> Int { 0 }
        func cancel() {}
    }

    private static func token(_ service: PushService) throws -> PushToken {
        try PushToken(
            service: service,
            bytes: service == .webPush
                ? Array("https://push.example.net/a".utf8) : Array(repeating: 0x41, count: 32))
    }

    @Test("an endpoint is looked at by the gateway of Web Push, other push tokens by none")
    func hosts() throws {
        let all = PushService.allCases.map { FakeGateway(service: $0, host: "other.example.net") }
        for service in PushService.allCases {
            let problem = Admission(all).problem(with: try Self.token(service))
            #expect(problem == (service == .webPush ? .pushHostNotAllowed : nil))
        }
    }

    @Test("where topics wake the apps of a push service, its push tokens are not needed")
    func topics() throws {
        let token = try Self.token(.fcm)
        let topics = FakeGateway(service: .fcm, wakesTokens: false)
        #expect(Admission([topics]).problem(with: token) == .notNeeded)
        #expect(Admission([topics]).problem(with: try Self.token(.apns)) == .serviceOff)
        #expect(Admission([topics, FakeGateway(service: .fcm)]).problem(with: token) == nil)
        #expect(Problem.notNeeded.status == 422 && "\(Problem.notNeeded.code)" == "not_needed")
    }
}
