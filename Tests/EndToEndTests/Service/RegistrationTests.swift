import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@Suite("Registering over HTTP with the built program", .timeLimit(.minutes(5)))
struct RegistrationTests {
    @Test("create, repeat, move and delete give byte-identical answers")
    func noOracle() async throws {
        let service = try await ServiceUnderTest()
        let device = TestDevice()
        let moved = Array(
            #"{"service":"apns-sandbox","token":"\#(TestDevice().pushText)"}"#.utf8)
        let client = try LoopbackClient(port: service.port)
        let answers = [
            try client.exchange("PUT", "/v1/registration", token: device.token, body: device.body),
            try client.exchange("PUT", "/v1/registration", token: device.token, body: device.body),
            try client.exchange("PUT", "/v1/registration", token: device.token, body: moved),
            try client.exchange("DELETE", "/v1/registration", token: device.token),
            try client.exchange("DELETE", "/v1/registration", token: device.token),
            try client.exchange("DELETE", "/v1/registration", token: TestDevice().token),
        ]
        for answer in answers {
            #expect(answer.status == 204)
            #expect(withoutDate(answer.head) == withoutDate(answers[0].head))
        }
        #expect(await service.stop() == 0)
    }

    @Test("subject access shows both columns and what was sent, in one length for all")
    func subjectAccess() async throws {
        let service = try await ServiceUnderTest()
        let device = TestDevice()
        _ = try service.send("PUT", "/v1/registration", token: device.token, body: device.body)
        let known = try service.send("GET", "/v1/registration", token: device.token)
        let unknown = try service.send("GET", "/v1/registration", token: TestDevice().token)
        #expect(known.status == 200 && unknown.status == 200)
        #expect(withoutDate(known.head) == withoutDate(unknown.head))
        #expect(known.body.count == unknown.body.count)
        let answer = try RegistrationResponse.decode(known.body)
        #expect(answer.stored?.token.bytes.copy() == device.push)
        #expect(answer.stored?.generation == .current)
        #expect(answer.stored?.id.count == 32 && answer.stored?.sealed.count == 632)
        #expect(try RegistrationResponse.decode(unknown.body).stored == nil)
    }

    @Test("a renewal changes the sealed column and nothing else")
    func renewal() async throws {
        let service = try await ServiceUnderTest()
        let device = TestDevice()
        func stored() throws -> StoredRegistration? {
            _ = try service.send("PUT", "/v1/registration", token: device.token, body: device.body)
            let answer = try service.send("GET", "/v1/registration", token: device.token)
            return try RegistrationResponse.decode(answer.body).stored
        }
        let first = try stored()
        let second = try stored()
        #expect(first?.id == second?.id)
        #expect(first?.sealed != second?.sealed)
        #expect(first?.token == second?.token)
    }

    @Test("what is wrong with a request is said by status and code")
    func refusals() async throws {
        let service = try await ServiceUnderTest()
        let token = TestDevice().token
        func code(
            _ method: String, _ path: String, _ token: String?, _ body: String = ""
        ) throws -> String {
            let answer = try service.send(method, path, token: token, body: Array(body.utf8))
            #expect(answer["Content-Type"] == "application/problem+json")
            let object = try JSONSerialization.jsonObject(with: Data(answer.body))
            let fields = object as? [String: Any] ?? [:]
            #expect(fields["status"] as? Int == answer.status)
            #expect(fields["title"] is String)
            return "\(answer.status) \(fields["code"] as? String ?? "")"
        }
        let put = { (token: String?, body: String) in
            try code("PUT", "/v1/registration", token, body)
        }
        let good = #"{"service":"fcm","token":"a"}"#
        #expect(try put(nil, good) == "401 instance_token_missing")
        #expect(try put("short", good) == "401 instance_token_malformed")
        #expect(try put(token + "=", good) == "401 instance_token_malformed")
        #expect(try put(String(repeating: "A", count: 43), good) == "401 instance_token_malformed")
        #expect(try put(token, "[1]") == "400 body_malformed")
        let email = #"{"service":"fcm","token":"a","email":"a@b"}"#
        #expect(try put(token, email) == "400 member_unknown")
        #expect(try put(token, #"{"service":"pager","token":"a"}"#) == "400 service_unknown")
        #expect(try put(token, #"{"service":"apns","token":"zz"}"#) == "400 push_token_malformed")
        let long = #"{"service":"fcm","token":"\#(String(repeating: "a", count: 589))"}"#
        #expect(try put(token, long) == "413 push_token_too_long")
        let endpoint = #"{"service":"webpush","endpoint":"https://127.0.0.1/x"}"#
        #expect(try put(token, endpoint) == "400 push_token_malformed")
        #expect(try code("GET", "/nowhere", nil) == "404 not_found")
        #expect(try code("GET", "/v1/wakes?since=1", nil) == "400 query_not_allowed")
        #expect(try code("POST", "/v1/registration", token, good) == "405 method_not_allowed")
    }

    @Test("policy and health are there for everyone")
    func open() async throws {
        let service = try await ServiceUnderTest()
        #expect(try service.send("GET", "/health").text == "ok\n")
        let policy = try service.send("GET", "/v1/policy")
        #expect(policy.status == 200)
        let root = Repository.root
        let file = try Data(contentsOf: root.appending(path: "Policy/privacy.json"))
        #expect(policy.body == Array(file))
    }

    @Test("a second service on the same store is refused, the first goes on")
    func secondDaemon() async throws {
        let service = try await ServiceUnderTest()
        let second = try await RunningProgram.run(
            "reveille", ["serve", "--config", service.configuration])
        #expect(second.status == 1)
        #expect(second.output.contains("another"))
        #expect(try service.send("GET", "/health").status == 200)
    }

    private func withoutDate(_ head: String) -> String {
        head.split(separator: "\r\n").filter { !$0.hasPrefix("Date:") }.joined(separator: "\n")
    }
}
