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

    @Test("without a gateway none may, with one those of its push service and no other")
    func services() throws {
        for service in PushService.allCases {
            let token = try Self.token(service)
            #expect(Admission([]).problem(with: token) == .serviceOff)
            for other in PushService.allCases {
                let admission = Admission([
                    FakeGateway(service: other, host: "push.example.net")
                ])
                #expect(admission.problem(with: token) == (other == service ? nil : .serviceOff))
            }
        }
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

    @Test("each refusal of an endpoint is a problem of its own")
    func refusals() throws {
        let token = try Self.token(.webPush)
        for (refusal, problem) in [
            (.hostNotAllowed, .pushHostNotAllowed), (.subjectMissing, .pushSubjectMissing),
            (.keyMalformed, .pushTokenMalformed),
        ] as [(EndpointRefusal, Problem)] {
            let admission = Admission([FakeGateway(service: .webPush, refusal: refusal)])
            #expect(admission.problem(with: token) == problem)
        }
    }

    @Test("the problems are 422, each with its code")
    func problems() {
        #expect(Problem.pushSubjectMissing.status == 422)
        #expect("\(Problem.pushSubjectMissing.code)" == "push_subject_missing")
        #expect(Problem.serviceOff.status == 422 && Problem.pushHostNotAllowed.status == 422)
        #expect("\(Problem.serviceOff.code)" == "service_off")
        #expect("\(Problem.pushHostNotAllowed.code)" == "push_host_not_allowed")
    }
}
