import Foundation
import PhoneRegistration
import TestSupport
import Testing
import WakeSystem

@Suite("The registration for phones, against the real service", .timeLimit(.minutes(20)))
struct PhoneTests {
    private static let count =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 60 : 1000

    @Test("whatever is lost on the way, there is one row with the last push token, or none")
    func lives() async throws {
        let service = try await ServiceUnderTest(
            sections: """

                [registration]
                new-per-prefix = 1000000
                new-per-day = 1000000000
                """)
        var random = SplitMix64(seed: 4711)
        var phones: [Phone] = []
        for _ in 0..<Self.count {
            var phone = Phone()
            for _ in 0..<Int.random(in: 3...25, using: &random) {
                try phone.live(service, &random)
            }
            try phone.settle(service)
            phones.append(phone)
        }
        let registered = phones.filter { $0.wish != nil }
        #expect(registered.count > Self.count / 3 && registered.count < Self.count)
        #expect(try service.rows() == registered.count)
        for phone in phones { try phone.check(service) }
        for var phone in phones {
            phone.erase()
            try phone.settle(service)
            #expect(phone.state.isRegistered == false)
            try phone.check(service)
        }
        #expect(try service.rows() == 0)
        #expect(await service.stop() == 0)
    }

    @Test("a service that asks for work gets it, and an answer that is too late is asked again")
    func work() async throws {
        let service = try await ServiceUnderTest(
            sections: """

                [registration]
                new-per-prefix = 1
                new-per-day = 1
                """)
        var solved = 0
        for _ in 0..<3 {
            var phone = Phone()
            phone.register(TestDevice().push)
            try phone.settle(service)
            #expect(phone.state.isRegistered)
            try phone.check(service)
            solved += phone.solved
        }
        #expect(solved >= 2)
        #expect(try service.rows() == 3)
        // Given up in the middle: the next attempt gets another challenge.
        var phone = Phone()
        phone.register(TestDevice().push)
        try phone.settle(service) { false }
        #expect(phone.givenUp > 0 && phone.state.isRegistered)
        #expect(await service.stop() == 0)
    }

    @Test("a proof is what Policy/PROTOCOL.md says")
    func vectors() throws {
        let rows = try Repository.text("Policy/PROTOCOL.md").split(separator: "\n")
            .filter { $0.hasPrefix("| `") && $0.hasSuffix("` |") }
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: [" ", "`"]) } }
            .filter { $0.count == 6 && $0[0].count == 32 && $0[1].count == 43 }
        #expect(rows.count == 3)
        for row in rows {
            let token = row[1].replacing("-", with: "+").replacing("_", with: "/") + "="
            let json = """
                {"text":"\(row[0])","bits":\(row[2]),"token":"\(token)","expires":0}
                """
            let challenge = try JSONDecoder().decode(Challenge.self, from: Data(json.utf8))
            #expect(challenge.solve() == row[4])
        }
    }
}

/// A phone whose app is killed now and then, with a line that loses what it carries.
private struct Phone {
    private(set) var state = Registration()
    private(set) var wish: [UInt8]?
    private(set) var solved = 0
    private(set) var givenUp = 0
    /// Fields `Authorization` in the order of their use.
    private var authorizations: [String] = []
    private var now = 1_800_000_000.0

    mutating func register(_ token: [UInt8]) {
        wish = token
        state.register(.apns(Data(token)), now: now)
        kill()
    }

    mutating func erase() {
        wish = nil
        state.erase(now: now)
        kill()
    }

    /// The app is killed, and started again on what it had saved.
    private mutating func kill() {
        let saved = try? JSONEncoder().encode(state)
        if let copy = saved.flatMap({ try? JSONDecoder().decode(Registration.self, from: $0) }) {
            state = copy
        }
    }

    /// Something happens.
    mutating func live(_ service: ServiceUnderTest, _ random: inout SplitMix64) throws {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<5: register(TestDevice().push)
        case 5..<7: erase()
        case 7..<9: now += .random(in: 0...3 * 86_400, using: &random)
        // A clock that is set.
        case 9: now += .random(in: -86_400...0, using: &random)
        default:
            let step = state.next(now: now)
            switch step {
            case .send(let request): try send(request, service, &random)
            case .solve(let challenge): solve(challenge) { true }
            case .wait(let time): if Bool.random(using: &random) { now = time }
            case .rest: break
            }
        }
    }

    private mutating func send(
        _ request: Registration.Request, _ service: ServiceUnderTest, _ random: inout SplitMix64
    ) throws {
        let fate = Int.random(in: 0..<20, using: &random)
        let invented = [500, 502, 503, 507, 422, 429, 408].randomElement(using: &random) ?? 503
        switch fate {
        case 0..<3: state.failed(now: now)
        case 3..<6:
            _ = try exchange(request, service)
            state.failed(now: now)
        case 6..<9:
            // Killed while it waited for the answer.
            let before = state
            _ = try exchange(request, service)
            state = before
            kill()
        case 9..<12: state.received(invented, to: request, retryAfter: "120", now: now)
        default: try deliver(request, service)
        }
        kill()
    }

    private mutating func exchange(
        _ request: Registration.Request, _ service: ServiceUnderTest
    ) throws -> WireResponse {
        if authorizations.last != request.authorization {
            // A token that was deleted does not come back.
            #expect(!authorizations.contains(request.authorization))
            authorizations.append(request.authorization)
        }
        #expect(request.body.map { $0.count == 1024 } ?? (request.method == "DELETE"))
        return try service.send(
            request.method, "/v1/registration",
            token: String(request.authorization.dropFirst("Bearer ".count)),
            body: request.body.map(Array.init) ?? [])
    }

    private mutating func deliver(
        _ request: Registration.Request, _ service: ServiceUnderTest
    ) throws {
        let answer = try exchange(request, service)
        state.received(
            answer.status, to: request, retryAfter: answer["Retry-After"],
            body: Data(answer.body), now: now)
    }

    private mutating func solve(_ challenge: Challenge, while goesOn: () -> Bool) {
        let proof = challenge.solve(while: goesOn)
        if proof == nil { givenUp += 1 } else { solved += 1 }
        state.add(proof: proof)
    }

    /// Nothing is lost any more.
    /// - Parameter first: whether the first search goes on.
    mutating func settle(
        _ service: ServiceUnderTest, first: () -> Bool = { true }
    ) throws {
        for _ in 0..<100 {
            switch state.next(now: now) {
            case .send(let request): try deliver(request, service)
            case .solve(let challenge):
                let goesOn = givenUp > 0 || first()
                solve(challenge) { goesOn }
            case .wait where state.isRegistered: return
            case .wait(let time): now = time
            case .rest: return
            }
            kill()
        }
        throw TestFailure("it does not come to rest")
    }

    /// The service has the last push token under the last instance token, and nothing else of it.
    func check(_ service: ServiceUnderTest) throws {
        for authorization in authorizations {
            let answer = try service.send(
                "GET", "/v1/registration", token: String(authorization.dropFirst("Bearer ".count)))
            let held = authorization == authorizations.last ? wish : nil
            #expect(answer.text.contains("\"stored\":true") == (held != nil))
            if let held {
                let hex = held.map { String(format: "%02x", $0) }.joined()
                #expect(answer.text.contains(hex))
            }
        }
    }
}
