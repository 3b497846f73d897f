import Foundation
import Testing
import WakeModel
import WakeServer
import WakeStore

@Suite("What the policy says is what the program does")
struct PolicyTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func policy() throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(PrivacyPolicy.document))
        return try #require(object as? [String: Any])
    }

    @Test("the embedded policy is the file in Policy/, and its hash is b2sum's")
    func embedded() throws {
        let file = try Data(contentsOf: Self.root.appending(path: "Policy/privacy.json"))
        #expect(PrivacyPolicy.document == Array(file))
        #expect(PrivacyPolicy.hash.count == 64)
    }

    @Test("the tables it declares are the tables of the schema, to the letter")
    func schema() throws {
        let dataset = try #require((policy()["dataset"] as? [[String: Any]])?.first)
        let collections = try #require(dataset["collections"] as? [[String: Any]])
        let declared = collections.compactMap { $0["description"] as? String }
        #expect(declared == StoreSchema.TableName.allCases.map(\.definition))
        let meta = try #require(dataset["meta"] as? [String: String])
        #expect(meta["application_id"] == String(StoreSchema.applicationID))
        #expect(meta["user_version"] == String(StoreSchema.version))
    }

    @Test("the lengths it declares are the limits")
    func lengths() throws {
        let dataset = try #require((policy()["dataset"] as? [[String: Any]])?.first)
        for collection in try #require(dataset["collections"] as? [[String: Any]]) {
            let fields = try #require(collection["fields"] as? [[String: Any]])
            let lengths = fields.map { ($0["fides_meta"] as? [String: Any])?["length"] as? Int }
            #expect(lengths == [Limits.idBytes, Limits.sealedBytes])
        }
    }

    @Test("the limits quoted in PROTOCOL.md are those in force")
    func quotedLimits() throws {
        let file = Self.root.appending(path: "Policy/PROTOCOL.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let expected: [(String, Int)] = [
            ("pushTokenBytes", Limits.pushTokenBytes),
            ("requestBodyBytes", Limits.requestBodyBytes),
            ("requestHeadBytes", Limits.requestHeadBytes),
            ("requestFields", Limits.requestFields),
            ("requestTargetBytes", Limits.requestTargetBytes),
            ("headSeconds", Limits.headSeconds), ("bodySeconds", Limits.bodySeconds),
            ("idleSeconds", Limits.idleSeconds),
            ("registrationAnswerBytes", Limits.registrationAnswerBytes),
            ("paddedBodyBytes", Limits.paddedBodyBytes),
            ("keepAliveSeconds", Limits.keepAliveSeconds),
            ("streamRetryMilliseconds", Limits.streamRetryMilliseconds),
            ("plaintextBytes", Limits.plaintextBytes), ("sealedBytes", Limits.sealedBytes),
            ("idBytes", Limits.idBytes),
        ]
        for (name, value) in expected {
            #expect(text.contains("| `\(name)` | \(value) |"), "\(name)")
        }
        let section = try #require(text.split(separator: "## Limits\n").last)
        let quoted = section.split(separator: "\n").count { $0.hasPrefix("| `") }
        #expect(quoted == expected.count)
    }

    @Test("every problem code is documented, and has a status of its kind")
    func codes() throws {
        let file = Self.root.appending(path: "Policy/PROTOCOL.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        for problem in Problem.allCases {
            #expect((400..<600).contains(problem.status))
            #expect(text.contains("`\(problem.code)`"), "\(problem.code)")
        }
    }
}
