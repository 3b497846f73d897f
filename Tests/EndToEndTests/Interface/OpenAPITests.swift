import Foundation
import TestSupport
import Testing
import WakeModel

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

    /// One object in the document, as generators of clients need it; here each kind is as the
    /// service wants it.
    private static let registration = #"""
        {"oneOf": [
          {"type": "object", "additionalProperties": false, "required": ["service", "token"],
           "properties": {"service": {"enum": ["apns", "apns-sandbox"]}, "proof": PROOF,
             "token": {"type": "string", "pattern": "^([0-9A-Fa-f]{2}){32,100}$"}}},
          {"type": "object", "additionalProperties": false, "required": ["service", "token"],
           "properties": {"service": {"enum": ["fcm"]}, "proof": PROOF,
             "token": {"type": "string", "pattern": "^[!-~]{1,588}$"}}},
          {"type": "object", "additionalProperties": false, "required": ["service", "endpoint"],
           "properties": {"service": {"enum": ["webpush"]}, "proof": PROOF,
             "endpoint": ENDPOINT, "keys": {"$ref": "#/components/schemas/Keys"},
             "expirationTime": {"type": "number", "nullable": true}}}
        ]}
        """#

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
        try strict(text).write(to: URL(filePath: path))
        return path
    }

    /// The document with the registration of the tests; an endpoint may always have keys.
    private static func strict(_ text: String) throws -> Data {
        func object(_ value: Any?) throws -> [String: Any] {
            guard let object = value as? [String: Any] else { throw TestFailure("no object") }
            return object
        }
        var document = try object(JSONSerialization.jsonObject(with: Data(text.utf8)))
        var components = try object(document["components"])
        var schemas = try object(components["schemas"])
        let members = try object(object(schemas["Registration"])["properties"])
        var endpoint = try object(members["endpoint"])
        endpoint["maxLength"] = Limits.keyedEndpointBytes
        func json(_ value: Any?) throws -> String {
            try String(
                decoding: JSONSerialization.data(withJSONObject: object(value)), as: UTF8.self)
        }
        let shape = try registration.replacing("PROOF", with: json(members["proof"]))
            .replacing("ENDPOINT", with: json(endpoint))
        schemas["Registration"] = try JSONSerialization.jsonObject(with: Data(shape.utf8))
        components["schemas"] = schemas
        document["components"] = components
        return try JSONSerialization.data(withJSONObject: document)
    }

    @Test(
        "requests that are made of it, valid and not, are answered as it says",
        .enabled(if: PythonScript.has("schemathesis"), "needs Python's schemathesis"))
    func truth() async throws {
        let service = try await service()
        let (status, output) = try await schemathesis(
            Self.document(service), service, ["--max-examples", String(Self.cases)])
        #expect(status == 0, "\(output)")
        #expect(output.contains("16 passed"), "\(output)")
        #expect(await service.stop() == 0)
    }

    @Test(
        "a document that says something else is found out",
        .enabled(if: PythonScript.has("schemathesis"), "needs Python's schemathesis"),
        arguments: [
            // A form that is refused, a status and a body that are not answered.
            (#""pattern": "^[A-Za-z0-9_-]{40}$""#, #""pattern": "^ {40}$""#, "register"),
            (#""204""#, #""201""#, "unregister"),
            (#""stored": {"type": "boolean"}"#, #""stored": {"type": "integer"}"#, "read"),
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

    @Test(
        "a client that a generator makes of it registers, reads, deletes and is refused",
        .enabled(if: PythonScript.has("openapi_python_client"), "needs openapi-python-client"))
    func generated() async throws {
        let service = try await service()
        let (status, output) = try await RunningProgram.run(
            path: "/usr/bin/env",
            [
                "--chdir=" + service.directory.path, "python3", "-c", Self.client,
                Repository.absolute("Policy/openapi.json"), service.url,
            ])
        #expect(status == 0, "\(output)")
        #expect(await service.stop() == 0)
    }

    private static let client = #"""
        import base64, os, subprocess, sys
        subprocess.run([sys.executable, "-m", "openapi_python_client", "generate", "--path",
            sys.argv[1], "--output-path", "made"], check=True)
        sys.path.insert(0, "made")
        from reveille_client import AuthenticatedClient, Client, models
        from reveille_client.api.default import health, read, register, unregister, web_push
        token = base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")
        client = AuthenticatedClient(base_url=sys.argv[2], token=token)
        endpoint = "https://updates.push.services.mozilla.com/wpush/v2/" + "x" * 30
        body = models.Registration(models.RegistrationService.WEBPUSH, endpoint=endpoint)
        assert register.sync_detailed(client=client, body=body).status_code == 204
        stored = read.sync(client=client)
        assert stored.stored and stored.decoded.endpoint == endpoint, stored
        assert unregister.sync_detailed(client=client).status_code == 204
        assert not read.sync(client=client).stored
        refused = register.sync(
            client=client, body=models.Registration(models.RegistrationService.APNS, token="00"))
        assert refused.code == "push_token_malformed", refused
        stranger = AuthenticatedClient(base_url=sys.argv[2], token="short")
        assert read.sync(client=stranger).code == "instance_token_malformed"
        anyone = Client(base_url=sys.argv[2])
        assert web_push.sync(client=anyone).application_server_key.startswith("B")
        assert health.sync(client=anyone) == "ok\n"
        """#

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
