import Foundation
import TestSupport
import Testing
import WakeModel
import WakeServer
import WakeStore

@Suite("What the policy says is what the program does")
struct PolicyTests {
    private func policy() throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(PrivacyPolicy.document))
        return try #require(object as? [String: Any])
    }

    @Test("the embedded policy is the file in Policy/, and its hash is b2sum's")
    func embedded() throws {
        let file = try Data(contentsOf: Repository.root.appending(path: "Policy/privacy.json"))
        let isEmbedded = PrivacyPolicy.document == Array(file)
        #expect(isEmbedded)
        #expect(PrivacyPolicy.hash.count == 64)
    }

    @Test("the tables it declares are the tables of the schema, to the letter")
    func schema() throws {
        let dataset = try #require((policy()["dataset"] as? [[String: Any]])?.first)
        let collections = try #require(dataset["collections"] as? [[String: Any]])
        let declared = collections.compactMap { $0["description"] as? String }
        #expect(declared == StoreSchema.Table.allCases.map(\.definition))
        let meta = try #require(dataset["meta"] as? [String: String])
        #expect(meta["application_id"] == String(StoreSchema.applicationID))
        #expect(meta["user_version"] == String(StoreSchema.version))
    }

    @Test("the life it declares is what the schedule gives")
    func retention() throws {
        let dataset = try #require((policy()["dataset"] as? [[String: Any]])?.first)
        let meta = try #require(dataset["meta"] as? [String: String])
        let days = Configuration(directory: "/nowhere").rotationDays
        #expect(meta["rotation_days"] == String(days))
        #expect(meta["rotation_days_max"] == String(RotationSchedule.days.upperBound))
        let system = try #require((policy()["system"] as? [[String: Any]])?.first)
        let declared = try #require(system["privacy_declarations"] as? [[String: Any]])
        let period = "\(2 * days) days after the last renewal"
        #expect(declared.first?["retention_period"] as? String == period)
    }

    @Test("the lengths it declares are the limits")
    func lengths() throws {
        let dataset = try #require((policy()["dataset"] as? [[String: Any]])?.first)
        let collections = try #require(dataset["collections"] as? [[String: Any]])
        let lengths = try collections.map { collection in
            try #require(collection["fields"] as? [[String: Any]])
                .map { ($0["fides_meta"] as? [String: Any])?["length"] as? Int }
        }
        #expect(lengths == [[Limits.idBytes, Limits.sealedBytes], [Limits.idBytes]])
    }

    @Test("the limits quoted in PROTOCOL.md are those in force")
    func quotedLimits() throws {
        let file = Repository.root.appending(path: "Policy/PROTOCOL.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let expected: [(String, any CustomStringConvertible)] = [
            ("pushTokenBytes", Limits.pushTokenBytes),
            ("keyedEndpointBytes", Limits.keyedEndpointBytes),
            ("apnsTokenBytes", Limits.apnsTokenBytes),
            ("requestBodyBytes", Limits.requestBodyBytes),
            ("jsonDepth", Limits.jsonDepth),
            ("requestHeadBytes", Limits.requestHeadBytes),
            ("requestFields", Limits.requestFields),
            ("requestTargetBytes", Limits.requestTargetBytes),
            ("headSeconds", Limits.headSeconds),
            ("bodySeconds", Limits.bodySeconds),
            ("idleSeconds", Limits.idleSeconds),
            ("registrationAnswerBytes", Limits.registrationAnswerBytes),
            ("paddedBodyBytes", Limits.paddedBodyBytes),
            ("obliviousRequestBytes", Limits.obliviousRequestBytes),
            ("obliviousAnswerBytes", Limits.obliviousAnswerBytes),
            ("keepAliveSeconds", Limits.keepAliveSeconds),
            ("streamRetryMilliseconds", Limits.streamRetryMilliseconds),
            ("plaintextBytes", Limits.plaintextBytes),
            ("sealedBytes", Limits.sealedBytes),
            ("idBytes", Limits.idBytes),
            ("batchOperations", Limits.batchOperations),
            ("queuedOperations", Limits.queuedOperations),
            ("answerTickMicroseconds", Limits.answerTickMicroseconds),
            ("griddedWrites", Limits.griddedWrites),
            ("logMilliseconds", Limits.logMilliseconds),
            ("logPages", Limits.logPages),
            ("headroomPages", Limits.headroomPages),
            ("pagesPerInsert", Limits.pagesPerInsert),
            ("pageBytes", Limits.pageBytes),
            ("reserveBytes", Limits.reserveBytes),
            ("pageRows", Limits.pageRows),
            ("movedRows", Limits.movedRows),
            ("surveyRows", Limits.surveyRows),
            ("scanRows", Limits.scanRows),
            ("wakeUpsInFlight", Limits.wakeUpsInFlight),
            ("deduplicatedTokens", Limits.deduplicatedTokens),
            ("installations", Limits.installations),
            ("relayRequests", Limits.relayRequests),
            ("relayRequestsEach", Limits.relayRequestsEach),
            ("relayLargeBodies", Limits.relayLargeBodies),
            ("relayWakeUps", Limits.relayWakeUps),
            ("relaySeconds", Limits.relaySeconds),
            ("relayNonces", Limits.relayNonces),
        ]
        for (name, value) in expected {
            #expect(text.contains("| `\(name)` | \(value) |"), "\(name)")
        }
        // None may be added to the code and left out here.
        let source = Repository.root.appending(path: "Sources/WakeModel/Limits.swift")
        let declared = try String(contentsOf: source, encoding: .utf8)
            .split(separator: "static let ").dropFirst().map { String($0.prefix { $0 != " " }) }
        #expect(expected.map(\.0) == declared)
    }

    @Test("every problem code is documented, and has a status of its kind")
    func codes() throws {
        let file = Repository.root.appending(path: "Policy/PROTOCOL.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        for problem in Problem.allCases {
            #expect((400..<600).contains(problem.status))
            #expect(text.contains("`\(problem.code)`"), "\(problem.code)")
        }
    }
}
