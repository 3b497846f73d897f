import Foundation
import TestSupport
import Testing
import WakeModel

@Suite("Policy/openapi.json and the code")
struct OpenAPIDocumentTests {
    private let text: String
    private let document: [String: Any]

    init() throws {
        text = try Repository.text("Policy/openapi.json")
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
        document = try #require(object as? [String: Any])
    }

    /// Those of the admin listener are no app's, nor are those that relays get.
    private static let elsewhere: Set<String> = [
        "admin_token_wrong", "browser_refused", "broadcast_not_newer", "no_broadcast_running",
        "rotation_unconfirmed", "installation_unknown",
    ]

    @Test("each refusal of a public route is there with its status, and no other")
    func problems() throws {
        let components = try #require(document["components"] as? [String: Any])
        let paths = try #require(document["paths"] as? [String: Any])
        var declared: Set<String> = []
        func collect(_ value: Any) {
            if let object = value as? [String: Any] {
                if let status = ((object["status"] as? [String: Any])?["enum"] as? [Int])?.first,
                    let code = object["code"] as? [String: Any]
                {
                    for code in code["enum"] as? [String] ?? [] {
                        declared.insert("\(status) \(code)")
                    }
                }
                object.values.forEach(collect)
            } else if let array = value as? [Any] {
                array.forEach(collect)
            }
        }
        collect(components)
        collect(paths)
        let known = Problem.allCases.filter { problem in
            let code = "\(problem.code)"
            return !Self.elsewhere.contains(code) && !code.hasPrefix("relay_")
                && !code.hasPrefix("signature_") && !code.hasPrefix("oblivious_")
        }
        var expected = Set(known.map { "\($0.status) \($0.code)" })
        // Of the listener: what well-formed HTTP to these routes can get.
        expected.formUnion([
            "400 malformed_request", "405 method_not_allowed", "413 content_too_large",
            "415 content_encoding", "503 answer_overdue",
        ])
        #expect(declared == expected)
    }

    @Test("lengths in it are the limits")
    func limits() {
        let apns = Limits.apnsTokenBytes
        #expect(text.contains("\(apns.lowerBound) to \(apns.upperBound) bytes"))
        #expect(text.contains("\"maxLength\": \(Limits.pushTokenBytes)"))
        #expect(text.contains("at most \(Limits.keyedEndpointBytes) bytes"))
        #expect(text.contains("{\(2 * Limits.idBytes)}$"))
        #expect(text.contains("{\(2 * Limits.sealedBytes)}$"))
        #expect(text.contains("most \(Limits.requestBodyBytes) bytes"))
    }
}
