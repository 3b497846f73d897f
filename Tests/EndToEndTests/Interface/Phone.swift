import Foundation
import ReveillePhone
import TestSupport
import Testing

/// The registration of one phone, in whatever language: what the tests ask of each.
protocol PhoneMachine {
    mutating func register(_ token: [UInt8], now: Double) throws
    mutating func erase(now: Double) throws
    mutating func next(now: Double) throws -> PhoneStep
    /// The answer to the request that ``next(now:)`` gave last.
    mutating func received(
        _ status: Int, retryAfter: String?, body: [UInt8], now: Double
    ) throws
    mutating func failed(now: Double) throws
    /// Searches for the proof that ``next(now:)`` asked for; true when there is one.
    mutating func solve(while goesOn: Bool) throws -> Bool
    /// Only what it had saved is left.
    mutating func kill() throws
    func isRegistered() throws -> Bool
}

/// What a phone is to do now.
enum PhoneStep {
    struct Request {
        let method: String
        let authorization: String
        let body: [UInt8]?
    }

    case send(Request)
    case solve
    case wait(Double)
    case rest
}

/// The library for apps in Swift.
struct SwiftMachine: PhoneMachine {
    private var state = PhoneRegistration(at: Self.service)
    private var request: PhoneRegistration.Request?
    private var challenge: PhoneChallenge?
    private static let service = URL(filePath: "/service")

    mutating func register(_ token: [UInt8], now: Double) {
        state.register(.apns(Data(token)), now: now)
    }

    mutating func erase(now: Double) { state.unregister(now: now) }

    mutating func next(now: Double) -> PhoneStep {
        switch state.next(now: now) {
        case .send(let request):
            self.request = request
            return .send(
                .init(
                    method: request.method, authorization: request.authorization,
                    body: request.body.map(Array.init)))
        case .solve(let challenge):
            self.challenge = challenge
            return .solve
        case .wait(let time): return .wait(time)
        case .rest: return .rest
        }
    }

    mutating func received(_ status: Int, retryAfter: String?, body: [UInt8], now: Double) throws {
        let request = try #require(request)
        state.received(status, to: request, retryAfter: retryAfter, body: Data(body), now: now)
    }

    mutating func failed(now: Double) { state.failed(now: now) }

    mutating func solve(while goesOn: Bool) throws -> Bool {
        let challenge = try #require(challenge)
        let proof = challenge.solve { goesOn }
        state.add(proof: proof, for: challenge)
        return proof != nil
    }

    mutating func kill() throws {
        state = try JSONDecoder().decode(
            PhoneRegistration.self, from: try JSONEncoder().encode(state))
    }

    func isRegistered() -> Bool { state.isRegistered }
}

/// A phone whose app is killed now and then, with a line that loses what it carries.
struct Phone<Machine: PhoneMachine> {
    private(set) var machine: Machine
    private(set) var wish: [UInt8]?
    private(set) var solved = 0
    private(set) var givenUp = 0
    /// Fields `Authorization` in the order of their use.
    private var authorizations: [String] = []
    private var now = 1_800_000_000.0

    init(_ machine: Machine) { self.machine = machine }

    mutating func register(_ token: [UInt8]) throws {
        wish = token
        try machine.register(token, now: now)
        try machine.kill()
    }

    mutating func erase() throws {
        wish = nil
        try machine.erase(now: now)
        try machine.kill()
    }

    /// Something happens.
    mutating func live(_ service: ServiceUnderTest, _ random: inout SplitMix64) throws {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<5: try register(TestDevice().push)
        case 5..<7: try erase()
        case 7..<9: now += .random(in: 0...3 * 86_400, using: &random)
        // A clock that is set.
        case 9: now += .random(in: -86_400...0, using: &random)
        default:
            switch try machine.next(now: now) {
            case .send(let request): try send(request, service, &random)
            case .solve: try solve(while: true)
            case .wait(let time): if Bool.random(using: &random) { now = time }
            case .rest: break
            }
        }
    }

    private mutating func send(
        _ request: PhoneStep.Request, _ service: ServiceUnderTest, _ random: inout SplitMix64
    ) throws {
        let fate = Int.random(in: 0..<20, using: &random)
        let invented = [500, 502, 503, 507, 422, 429, 408].randomElement(using: &random) ?? 503
        switch fate {
        case 0..<3: try machine.failed(now: now)
        case 3..<6:
            _ = try exchange(request, service)
            try machine.failed(now: now)
        case 6..<9:
            // Killed while it waited for the answer.
            try machine.kill()
            _ = try exchange(request, service)
        case 9..<12: try machine.received(invented, retryAfter: "120", body: [], now: now)
        default: try deliver(request, service)
        }
        try machine.kill()
    }

    private mutating func exchange(
        _ request: PhoneStep.Request, _ service: ServiceUnderTest
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
            body: request.body ?? [])
    }

    private mutating func deliver(
        _ request: PhoneStep.Request, _ service: ServiceUnderTest
    ) throws {
        let answer = try exchange(request, service)
        try machine.received(
            answer.status, retryAfter: answer["Retry-After"], body: answer.body, now: now)
    }

    private mutating func solve(while goesOn: Bool) throws {
        if try machine.solve(while: goesOn) { solved += 1 } else { givenUp += 1 }
    }

    /// Nothing is lost any more.
    /// - Parameter givesUpFirst: whether the first search is ended.
    mutating func settle(_ service: ServiceUnderTest, givesUpFirst: Bool = false) throws {
        for _ in 0..<100 {
            switch try machine.next(now: now) {
            case .send(let request): try deliver(request, service)
            case .solve: try solve(while: givenUp > 0 || !givesUpFirst)
            case .wait(let time):
                if try machine.isRegistered() { return }
                now = time
            case .rest: return
            }
            try machine.kill()
        }
        throw TestFailure("it does not come to rest")
    }

    /// Meets a service that takes no proof whatever it is.
    /// - Returns: the requests that it sent in a day.
    mutating func insist(on problem: [UInt8]) throws -> Int {
        let end = now + 86_400
        for count in 0..<10_000 {
            var step = try machine.next(now: now)
            if case .solve = step {
                try solve(while: true)
                step = try machine.next(now: now)
            }
            switch step {
            case .wait(let time) where time > end: return count
            case .wait(let time): now = time
            default: try machine.received(429, retryAfter: "60", body: problem, now: now)
            }
            try machine.kill()
        }
        throw TestFailure("it does not stop")
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
