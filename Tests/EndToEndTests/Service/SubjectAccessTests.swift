import Foundation
import TestSupport
import Testing
import WakeModel

@Suite("What the service holds about a device, as its owner sees it", .timeLimit(.minutes(5)))
struct SubjectAccessTests {
    private struct Stored: Decodable {
        struct Columns: Decodable {
            let id: String
            let sealed: String
        }

        struct Decoded: Decodable {
            let service: String
            let token: String
        }

        struct Operator: Decodable {
            let can: [String]
            let cannot: [String]
        }

        let stored: Bool
        let generation: String?
        let columns: Columns?
        let decoded: Decoded?
        let policy: String
        let `operator`: Operator
    }

    private func hex(_ bytes: [UInt8]) -> String {
        String(decoding: Hex.encode(bytes.span), as: UTF8.self)
    }

    /// The lines of one field, joined.
    private func field(_ name: String, of text: String) -> String {
        var isIn = false
        return text.split(separator: "\n").filter { line in
            let label = line.dropFirst(2).prefix { $0 != " " }
            if line.hasPrefix("  "), !label.isEmpty { isIn = label == name }
            if !line.hasPrefix("  ") { isIn = false }
            return isIn
        }.map { $0.dropFirst(11) }.joined()
    }

    @Test("both columns, what they decode to, and the policy's hash are those of the service")
    func whole() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        let device = TestDevice()
        #expect(try await client.register(device) == 0)
        let instance = try #require(front.instanceToken)
        let answer = try service.send("GET", "/v1/registration", token: instance.text)
        let row = try #require(try RegistrationResponse.decode(answer.body).stored)

        let json = try await client.command("stored", "--json")
        let stored = try JSONDecoder().decode(Stored.self, from: Data(json.output.utf8))
        #expect(json.status == 0 && stored.stored)
        #expect(stored.generation == "current")
        #expect(stored.columns?.id == hex(row.id) && row.id.count == 32)
        #expect(stored.columns?.sealed == hex(row.sealed) && row.sealed.count == 632)
        #expect(stored.decoded?.service == "apns" && stored.decoded?.token == device.pushText)
        #expect(stored.operator.can.count >= 5 && stored.operator.cannot.count >= 5)
        // Others compute the same hash from what the service answers.
        let policy = service.directory.path + "/policy.json"
        try Data(service.send("GET", "/v1/policy").body).write(to: URL(filePath: policy))
        let sum = try await RunningProgram.run(path: "/usr/bin/b2sum", ["-l", "256", policy])
        #expect(stored.policy == String(sum.output.prefix(64)))

        let text = try await client.command("stored")
        #expect(text.status == 0)
        #expect(field("id", of: text.output) == hex(row.id))
        #expect(field("sealed", of: text.output) == hex(row.sealed))
        #expect(field("token", of: text.output) == device.pushText)
        #expect(text.output.contains("policy: \(stored.policy)"))
        #expect(text.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
        let words = text.output.replacing(/\s+/, with: " ")
        for item in stored.operator.can + stored.operator.cannot {
            #expect(words.contains("- " + item), "\(item)")
        }
    }

    @Test("what it says an operator could do, an operator can: the key opens the row")
    func honest() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        #expect(try await client.register(TestDevice()) == 0)
        let stored = try await client.command("stored")
        #expect(stored.output.contains("decrypt the sealed column with the key of the service"))
        let root = service.directory.path + "/service"
        let opened = try await RunningProgram.run(
            "reveille",
            [
                "audit", service.data, "--keys",
                root + "/keys/registration.key",
            ])
        #expect(opened.status == 0 && opened.output.contains("ok          keys"))
    }

    @Test("known and unknown look alike to an observer: one length, the same fields")
    func alike() async throws {
        let service = try await ServiceUnderTest()
        let device = TestDevice()
        let unknown = try service.send("GET", "/v1/registration", token: device.token)
        _ = try service.send("PUT", "/v1/registration", token: device.token, body: device.body)
        let known = try service.send("GET", "/v1/registration", token: device.token)
        #expect(known.body.count == unknown.body.count && known.body != unknown.body)
        let dateless = [known, unknown].map { $0.head.replacing(/Date: [^\r]*/, with: "") }
        #expect(dateless[0] == dateless[1])
    }

    @Test("a row that is gone is said to be gone, and the policy all the same")
    func gone() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        #expect(try await client.register(TestDevice()) == 0)
        let instance = try #require(front.instanceToken)
        #expect(
            try service.send("DELETE", "/v1/registration", token: instance.text).status == 204)
        let text = try await client.command("stored")
        #expect(text.status == 0)
        #expect(text.output.hasPrefix("the service holds nothing about this device\n"))
        let json = try await client.command("stored", "--json")
        let stored = try JSONDecoder().decode(Stored.self, from: Data(json.output.utf8))
        #expect(!stored.stored && stored.columns == nil && stored.decoded == nil)
        #expect(stored.operator.can == [] && text.output.contains(stored.policy))
    }
}
