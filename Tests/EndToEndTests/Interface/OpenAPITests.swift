import Foundation
import TestSupport
import Testing

@Suite("Policy/openapi.json", .timeLimit(.minutes(20)))
struct OpenAPITests {
    private static let cases =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 60 : 2000

    /// Schemathesis takes a valid request for wrong when its answer is none of these.
    private static let settings = """
        [checks.positive_data_acceptance]
        expected-statuses = ["2xx", 404, 416, 422]
        [checks.negative_data_rejection]
        expected-statuses = [400, 401, 404, 405, 413, 415, 416, 422]
        """

    /// A pattern cannot say which points are on the curve: here they all are.
    private static func document(
        _ service: ServiceUnderTest, change: (from: String, to: String)? = nil
    ) throws -> String {
        var text = try Repository.text("Policy/openapi.json")
        let point = #""pattern": "^B[A-P][A-Za-z0-9_-]{84}[AEIMQUYcgkosw048]$""#
        // The generator of the group.
        let generator =
            "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tK"
            + "fA-eFivOM1drMV7Oy7ZAaDe_UfU"
        let changes = [(from: point, to: #""enum": ["\#(generator)"]"#), change].compactMap(\.self)
        for (from, to) in changes {
            guard text.contains(from) else { throw TestFailure("no \(from)") }
            text = text.replacing(from, with: to)
        }
        let path = service.directory.path + "/openapi.json"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test(
        "requests that are made of it, valid and not, are answered as it says",
        .enabled(if: PythonScript.has("schemathesis"), "needs Python's schemathesis"))
    func truth() async throws {
        let service = try await service()
        let (status, output) = try await schemathesis(
            Self.document(service), service, ["--max-examples", String(Self.cases)])
        #expect(status == 0, "\(output)")
        #expect(output.contains("15 passed"), "\(output)")
        #expect(await service.stop() == 0)
    }

    @Test(
        "a document that says something else is found out",
        .enabled(if: PythonScript.has("schemathesis"), "needs Python's schemathesis"),
        arguments: [
            // A form that is refused, a status and a body that are not answered.
            (#""pattern": "^[!-~]{1,588}$""#, #""pattern": "^ {1,588}$""#, "register"),
            (#""204""#, #""201""#, "unregister"),
            (#""stored": {"const": false}"#, #""stored": {"const": true}"#, "read"),
        ])
    func control(_ shipped: String, _ wrong: String, _ operation: String) async throws {
        let service = try await service()
        let (status, output) = try await schemathesis(
            Self.document(service, change: (shipped, wrong)), service,
            [
                "--include-operation-id", operation, "--max-examples", "100",
                "--max-failures", "1",
            ])
        #expect(status == 1, "\(output)")
        #expect(await service.stop() == 0)
    }

    /// Without budgets: all requests come from one network.
    private func service() async throws -> ServiceUnderTest {
        let service = try await ServiceUnderTest(
            sections: """

                [registration]
                new-per-prefix = 1000000
                new-per-day = 1000000000

                [webpush]
                key = keys/vapid.key
                hosts = any
                subject = mailto:operator@example.org
                """)
        _ = try await service.publish([TestDevice().pushText], notes: [])
        return service
    }

    /// Without the event stream, which never ends.
    private func schemathesis(
        _ document: String, _ service: ServiceUnderTest, _ words: [String]
    ) async throws -> (status: Int32, output: String) {
        let settings = service.directory.path + "/schemathesis.toml"
        try Self.settings.write(toFile: settings, atomically: true, encoding: .utf8)
        return try await RunningProgram.run(
            path: "/usr/bin/env",
            [
                "--chdir=" + service.directory.path, "schemathesis",
                "--config-file", settings, "run", document, "--url", service.url, "--checks",
                "all", "--exclude-path", "/v1/wakes", "--phases", "fuzzing", "--seed", "1",
                "--continue-on-failure", "--no-color", "--warnings", "off", "--header",
                "Authorization: Bearer " + TestDevice().token,
            ] + words)
    }
}
