import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

/// A push token that would never be sent anything is refused when it comes.
@Suite(
    "A push service without a gateway", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct ServiceOffTests {
    private static let path = "/v1/registration"

    static let bodies: [(service: String, body: String)] = [
        ("apns", #"{"service":"apns","token":"\#(TestDevice().pushText)"}"#),
        ("apns-sandbox", #"{"service":"apns-sandbox","token":"\#(TestDevice().pushText)"}"#),
        ("fcm", #"{"service":"fcm","token":"abc:def"}"#),
        ("webpush", #"{"service":"webpush","endpoint":"https://push.example.net/x"}"#),
    ]

    private func code(_ answer: WireResponse) throws -> String {
        #expect(answer["Content-Type"] == "application/problem+json")
        let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        return "\(answer.status) \(object?["code"] as? String ?? "")"
    }

    @Test("its push tokens are refused by status and code, and nothing of them is stored")
    func refused() async throws {
        let service = try await ServiceUnderTest(serving: .nothing)
        for (name, body) in Self.bodies {
            let token = TestDevice().token
            let put = try service.send("PUT", Self.path, token: token, body: Array(body.utf8))
            #expect(try code(put) == "422 service_off", "\(name)")
            #expect(!put.text.contains("abc:def") && !put.text.contains("push.example"))
            let get = try service.send("GET", Self.path, token: token)
            #expect(try RegistrationResponse.decode(get.body).stored == nil)
            #expect(try service.send("DELETE", Self.path, token: token).status == 204)
        }
        // What is wrong with the request itself is said first.
        let malformed = Array(#"{"service":"apns","token":"zz"}"#.utf8)
        let put = try service.send("PUT", Self.path, token: TestDevice().token, body: malformed)
        #expect(try code(put) == "400 push_token_malformed")
        #expect(try service.rows() == 0)
    }

    @Test("each section turns on its own push services and no other")
    func sections() async throws {
        let fcm = try await FCMService()
        let apns = try await ServiceUnderTest()
        for (service, on) in [(fcm.service, ["fcm"]), (apns, ["apns", "apns-sandbox"])] {
            for (name, body) in Self.bodies {
                let put = try service.send(
                    "PUT", Self.path, token: TestDevice().token, body: Array(body.utf8))
                #expect((put.status == 204) == on.contains(name), "\(name)")
            }
            #expect(try service.rows() == on.count)
        }
    }

    @Test(
        "the last one that is taken out while registrations wait is told, and no broadcast is well")
    func last() async throws {
        let service = try await ServiceUnderTest()
        func wakes() async throws -> (status: Int32, output: String) {
            try await service.command("broadcast", "--force")
        }
        let device = TestDevice()
        let token = device.token
        let put = try service.send("PUT", Self.path, token: token, body: device.body)
        #expect(put.status == 204)
        try service.removeSection("apns")
        #expect(try await service.command("reload").status == 0)
        let silent = try await wakes()
        #expect(
            silent.status == 1 && silent.output.contains("no push was sent"), "\(silent.output)")
        let status = try await service.command("status")
        #expect(status.output.contains("problem: gateway-missing: "), "\(status.output)")
        _ = try await service.program.line(containing: "trouble kind=gateway-missing")
        // Without registrations there is nothing that could be pushed.
        #expect(try service.send("DELETE", Self.path, token: token).status == 204)
        #expect(try await wakes().status == 0)
        #expect(try await !service.command("status").output.contains("gateway-missing"))
    }

    @Test("an environment of APNs that is left out: nothing new, and what is there is not woken")
    func environment() async throws {
        let place = try await PushingService()
        let service = place.service
        for (_, body) in Self.bodies.prefix(2) {
            let put = try service.send(
                "PUT", Self.path, token: TestDevice().token, body: Array(body.utf8))
            #expect(put.status == 204)
        }
        #expect(await service.stop() == 0)
        let text = try String(contentsOfFile: service.configuration, encoding: .utf8)
            .replacing("\n[apns]\n", with: "\n[apns]\nenvironments = production\n")
        try text.write(toFile: service.configuration, atomically: true, encoding: .utf8)
        try await service.restart()
        let again = try service.send(
            "PUT", Self.path, token: TestDevice().token, body: Array(Self.bodies[1].body.utf8))
        #expect(try code(again) == "422 service_off")
        try place.register([TestDevice()])
        let (status, output) = try await place.broadcast()
        #expect(status == 0, "\(output)")
        #expect(output.contains(": 2 accepted, 1 of a push service without a gateway"), "\(output)")
        #expect(try await place.mock.report().distinct == 2)
    }

    @Test("a section that is removed: what was registered stays, can be seen, and can be deleted")
    func removed() async throws {
        let service = try await ServiceUnderTest()
        let (kept, deleted) = (TestDevice(), TestDevice())
        for device in [kept, deleted] {
            let put = try service.send("PUT", Self.path, token: device.token, body: device.body)
            #expect(put.status == 204)
        }
        #expect(await service.stop() == 0)
        try service.removeSection("apns")
        try await service.restart()
        let put = try service.send("PUT", Self.path, token: kept.token, body: kept.body)
        #expect(try code(put) == "422 service_off")
        let get = try service.send("GET", Self.path, token: kept.token)
        let stored = try #require(try RegistrationResponse.decode(get.body).stored)
        #expect(stored.token.bytes.copy() == kept.push)
        #expect(try service.send("DELETE", Self.path, token: deleted.token).status == 204)
        #expect(try service.files(containing: deleted.forms) == [])
        #expect(try service.rows() == 1)
    }

    @Test(
        "the client says what is wrong and who can change it, keeps the wish, and does not hammer")
    func client() async throws {
        let service = try await ServiceUnderTest(serving: .nothing)
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        let device = TestDevice()
        let text = Array(device.pushText.utf8)
        let (status, output) = try await client.command("register", "apns", input: text)
        #expect(status == 78)
        #expect(
            output.contains(
                """
                not registered: the service sends nothing to such a push token
                hint: its operator has not configured this push service, or not this endpoint's \
                host; until then the event stream and polls wake this client

                """), "\(output)")
        #expect(try await client.status("registration") == "\"registering\"")
        let again = try await client.command("register", "apns", "--json", input: text)
        #expect(again.status == 78 && again.output.contains("\"failure\":\"not-served\""))
        // A client that runs waits for hours: it is woken meanwhile, and asks no more.
        let reports = try MatchReports(in: client.directory)
        let secret = try await client.addSecret("visit")
        let listening = try await client.listen("--on-match", reports.program)
        _ = try await service.publish([secret], notes: [], "--then-broadcast")
        _ = try await reports.atLeast(1)
        #expect(front.requests.count { $0.method == "PUT" } == 2)
        listening.signal(SIGTERM)
        #expect(await listening.exit() == 0)
    }

    @Test("once the operator has turned it on, push tokens are taken")
    func turnedOn() async throws {
        let service = try await ServiceUnderTest()
        let section = try #require(service.push?.section)
        #expect(await service.stop() == 0)
        try service.removeSection("apns")
        try await service.restart()
        let device = TestDevice()
        #expect(try await ClientUnderTest(of: service).register(device) == 78)
        #expect(await service.stop() == 0)
        let text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        try (text + section).write(
            toFile: service.configuration, atomically: true, encoding: .utf8)
        try await service.restart()
        #expect(try await ClientUnderTest(of: service).register(device) == 0)
        #expect(try service.rows() == 1)
    }
}
