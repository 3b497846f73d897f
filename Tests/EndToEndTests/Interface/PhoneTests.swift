import Foundation
import ReveillePhone
import TestSupport
import Testing
import WakeModel
import WakeSystem

@Suite("The registration for phones, against the real service", .timeLimit(.minutes(30)))
struct PhoneTests {
    private static let count =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 60 : 1000
    private static let isJavaMissing: Comment = "no javac (Debian: default-jdk-headless)"

    @Test("whatever is lost on the way, there is one row with the last push token, or none")
    func lives() async throws {
        try await livesAll { SwiftMachine() }
    }

    @Test(
        "in Java, the same",
        .enabled(if: JavaProgram.isInstalled, isJavaMissing))
    func livesInJava() async throws {
        let program = try await JavaProgram()
        try await livesAll { try program.phone() }
    }

    @Test("in JavaScript, the same", .enabled(if: NodeProgram.isInstalled, NodeProgram.missing))
    func livesInJavaScript() async throws {
        let program = try NodeProgram()
        try await livesAll { try NodeMachine(program) }
    }

    private func livesAll<Machine: PhoneMachine>(_ make: () throws -> Machine) async throws {
        let service = try await Self.service(newPerPrefix: 1_000_000)
        var random = SplitMix64(seed: 4711)
        var phones: [Phone<Machine>] = []
        for _ in 0..<Self.count {
            var phone = Phone(try make())
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
            try phone.erase()
            try phone.settle(service)
            #expect(try phone.machine.isRegistered() == false)
            try phone.check(service)
        }
        #expect(try service.rows() == 0)
        #expect(await service.stop() == 0)
    }

    @Test(
        "a wait that is no number of seconds is none, and a refusal for good can be seen",
        arguments: ["nan", "inf", "-5", "1e9", "Wed, 21 Oct 2026 07:28:00 GMT"])
    func waits(_ wait: String) throws {
        var state = PhoneRegistration(at: URL(filePath: "/service"))
        state.register(.fcm("token"), now: 1000)
        guard case .send(let first) = state.next(now: 1000) else { throw TestFailure("rests") }
        state.received(503, to: first, retryAfter: wait, now: 1000)
        guard case .wait(let time) = state.next(now: 1000) else { throw TestFailure("no wait") }
        #expect((1000...1030).contains(time))
        guard case .send(let second) = state.next(now: time) else { throw TestFailure("rests") }
        state.received(400, to: second, now: time)
        #expect(state.isRefused && state.next(now: time) == .rest)
    }

    @Test("a service that asks for work gets it, and an answer that is too late is asked again")
    func work() async throws {
        try await works { SwiftMachine() }
    }

    @Test(
        "work in Java, the same",
        .enabled(if: JavaProgram.isInstalled, isJavaMissing))
    func workInJava() async throws {
        let program = try await JavaProgram()
        try await works { try program.phone() }
    }

    @Test(
        "work in JavaScript, the same",
        .enabled(if: NodeProgram.isInstalled, NodeProgram.missing))
    func workInJavaScript() async throws {
        let program = try NodeProgram()
        try await works { try NodeMachine(program) }
    }

    private func works<Machine: PhoneMachine>(_ make: () throws -> Machine) async throws {
        let service = try await Self.service(newPerPrefix: 1)
        var solved = 0
        for _ in 0..<3 {
            var phone = Phone(try make())
            try phone.register(TestDevice().push)
            try phone.settle(service)
            #expect(try phone.machine.isRegistered())
            try phone.check(service)
            solved += phone.solved
        }
        #expect(solved >= 2)
        #expect(try service.rows() == 3)
        // Given up in the middle: the next attempt gets another challenge.
        var phone = Phone(try make())
        try phone.register(TestDevice().push)
        try phone.settle(service, givesUpFirst: true)
        #expect(try phone.givenUp > 0 && phone.machine.isRegistered())
        #expect(await service.stop() == 0)
        // No proof is ever enough, or an hour is given for it: that is no reason to hurry.
        for seconds in [600, 3600] {
            var phone = Phone(try make())
            try phone.register(TestDevice().push)
            let requests = try phone.insist(
                on: Array(
                    """
                    {"title":"Work","status":429,"code":"proof_needed",
                    "challenge":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","bits":1,"seconds":\(seconds)}
                    """.utf8))
            #expect(phone.solved > 5)
            #expect((10..<60).contains(requests), "\(requests)")
        }
    }

    /// Challenges, instance tokens, bits and proofs of Policy/PROTOCOL.md.
    private static func vectors() throws -> [(
        text: String, token: String, bits: Int, proof: String
    )] {
        let lines = try Repository.text("Policy/PROTOCOL.md").split(separator: "\n")
        let rows = lines.filter { $0.hasPrefix("| `") && $0.hasSuffix("` |") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: [" ", "`"]) }
        }
        return rows.filter { $0.count == 6 && $0[0].count == 32 && $0[1].count == 43 }
            .map { (text: $0[0], token: $0[1], bits: Int($0[2]) ?? 0, proof: $0[4]) }
    }

    @Test("a proof is what Policy/PROTOCOL.md says")
    func proofs() throws {
        let rows = try Self.vectors()
        #expect(rows.count == 3)
        for row in rows {
            let token = row.token.replacing("-", with: "+").replacing("_", with: "/") + "="
            let json = """
                {"text":"\(row.text)","bits":\(row.bits),"token":"\(token)","expires":0}
                """
            let challenge = try JSONDecoder().decode(PhoneChallenge.self, from: Data(json.utf8))
            #expect(challenge.solve() == row.proof)
        }
    }

    @Test(
        "a proof in Java is what Policy/PROTOCOL.md says",
        .enabled(if: JavaProgram.isInstalled, isJavaMissing))
    func proofsInJava() async throws {
        let program = try await JavaProgram()
        for row in try Self.vectors() {
            // As Registration.saved() writes it.
            func text(_ text: String) -> [UInt8] { [0, UInt8(text.utf8.count)] + Array(text.utf8) }
            func number(_ value: Int, _ count: Int) -> [UInt8] {
                (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            }
            let token = [4] + ["service", "fcm", "token", "x"].flatMap(text)
            var phone = try program.phone()
            try phone.restore(
                [1] + text(row.token) + token + [0, 0, 0] + number(0, 4) + number(0, 8) + text("")
                    + text(row.text) + number(row.bits, 4) + number(600, 8))
            guard case .solve = try phone.next(now: 1) else { throw TestFailure("nothing to do") }
            #expect(try phone.proof() == row.proof)
        }
    }

    @Test(
        "a proof in JavaScript is what Policy/PROTOCOL.md says",
        .enabled(if: NodeProgram.isInstalled, NodeProgram.missing))
    func proofsInJavaScript() async throws {
        let program = try NodeProgram()
        for row in try Self.vectors() {
            let bytes = Base64URL.decode(Array(row.token.utf8).span) ?? []
            let token = String(decoding: Hex.encode(bytes.span), as: UTF8.self)
            let state = """
                {"token":"\(token)","wish":{"service":"fcm","token":"x"},"confirmed":null,
                "isErasing":false,"isRefused":false,"failures":0,"nextTime":0,"proof":null,
                "challenge":{"text":"\(row.text)","bits":\(row.bits),"nonce":0,"expires":600,
                "token":"\(token)"},"lastStatus":null}
                """
            var page = NodeMachine(program, state: state)
            guard case .solve = try page.next(now: 1) else { throw TestFailure("nothing to do") }
            #expect(try page.proof() == row.proof)
        }
    }

    @Test(
        "an app in Java that is killed at any moment registers, moves and erases all the same",
        .enabled(if: JavaProgram.isInstalled, isJavaMissing))
    func killsInJava() async throws {
        let program = try await JavaProgram(drivenBy: "ClientCycles")
        let service = try await Self.service(newPerPrefix: 1)
        let directory = try TemporaryDirectory()
        var random = SplitMix64(seed: 99)
        for wish in ["first", "second", "", "third"] {
            let words =
                [wish.isEmpty ? "unregister" : "register", directory.path + "/state"]
                + [service.url + "/", service.url + "/feed", service.feedKey]
                + (wish.isEmpty ? [] : ["https://push.example.org/" + wish])
            for _ in 0..<4 {
                let app = try program.start(words)
                do {
                    _ = try await app.line(containing: "began")
                } catch { throw TestFailure("\(error) \(await app.exit())") }
                app.signal(SIGKILL, after: .milliseconds(Int.random(in: 0...60, using: &random)))
                _ = await app.exit()
            }
            let app = try program.start(words)
            #expect(await app.exit() == 0, "\(app.output)")
            let isRegistered = !wish.isEmpty
            let state = isRegistered ? "REGISTERED" : "NONE"
            #expect(app.output.contains("ended \(state) "), "\(app.output)")
            #expect(try service.rows() == (isRegistered ? 1 : 0))
        }
        let place = [
            directory.path + "/state", service.url, service.url + "/feed", service.feedKey,
        ]
        for answer in ["push null\n", "push httpStatus 429\n"] {
            let app = try program.start(["push"] + place)
            #expect(await app.exit() == 0 && app.output == answer, "\(app.output)")
        }
        let left = try Data(contentsOf: URL(filePath: directory.path + "/state/state"))
        #expect(left.range(of: Data("push.example.org".utf8)) == nil, "it is sealed")
        #expect(await service.stop() == 0)
    }

    private static func service(newPerPrefix: Int) async throws -> ServiceUnderTest {
        let account = try ServiceAccountFile(tokenURI: "http://127.0.0.1:9/token")
        return try await ServiceUnderTest(
            sections: """

                [registration]
                new-per-prefix = \(newPerPrefix)
                new-per-day = \(newPerPrefix == 1 ? 1 : 1_000_000_000)

                [webpush]
                key = keys/vapid.key
                hosts = any
                subject = mailto:operator@example.org

                [fcm]
                key = \(account.file)
                host = localhost
                port = 9
                """)
    }
}
