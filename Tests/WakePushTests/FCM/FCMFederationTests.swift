import Foundation
import Synchronization
import TestSupport
import Testing
import WakeFetch
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("Access tokens without a key of Google's", .timeLimit(.minutes(5)))
struct FCMFederationTests {
    /// Another provider, Google's token service, and its service accounts: path, status and body.
    private final class Provider: Sendable {
        let requests = Observed<[WireRequest]>([])
        private let server: WireServer

        /// - Parameter field: of every answer.
        init(_ answers: [String: (Int, String)], field: String = "Server: x") throws {
            let requests = requests
            server = try WireServer { peer in
                while let request = WireRequest(from: peer) {
                    requests.update { $0.append(request) }
                    let (status, body) = answers[request.path] ?? (404, "")
                    let head = "HTTP/1.1 \(status) X\r\n\(field)\r\n"
                    let length = "Content-Length: \(body.utf8.count)\r\n\r\n"
                    guard (try? peer.send(head + length + body)) != nil else { return }
                }
            }
        }

        deinit { server.refuse() }

        var url: String { server.url }
        var host: String { "127.0.0.1:\(server.port)" }
    }

    private static let federated =
        (200, #"{"access_token":"ya29.fed","expires_in":1800,"token_type":"Bearer"}"#)
    private static let account = (
        200, #"{"accessToken":"ya29.account","expireTime":"2026-11-22T16:00:00.5Z"}"#
    )
    /// 2026-11-22T15:00:00Z
    private static let now = 1_795_359_600
    private static let audience =
        "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/a/providers/b"

    private static func file(
        _ provider: Provider?, source: String, isImpersonated: Bool = false,
        _ change: (String) -> String = { $0 }
    ) throws -> JSONValue {
        let url = provider?.url ?? "https://sts.googleapis.com"
        let account =
            isImpersonated
            ? #","service_account_impersonation_url":"\#(url)/a:generateAccessToken""# : ""
        let text = """
            {"type":"external_account","audience":"\(audience)",
             "subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"\(url)/sts",
             "universe_domain":"googleapis.com","credential_source":\(source)\(account)}
            """
        return try JSONValue(parsing: Array(change(text).utf8))
    }

    private static func run(_ identity: any FCMIdentity) async throws -> FCMTokenExchange.Outcome {
        let fetcher = try Fetcher(FetchConfiguration())
        return await FCMTokenExchange(identity, fetcher).run(now: now)
    }

    private static func token(_ text: String, _ lifetime: Int) -> FCMTokenExchange.Outcome {
        .token(SecretBytes(Array(text.utf8)), lifetime: lifetime)
    }

    /// The members of a form.
    private static func form(_ request: WireRequest) -> [String: String] {
        let text = String(decoding: request.body, as: UTF8.self)
        return text.split(separator: "&").reduce(into: [:]) { members, pair in
            let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
            members[parts[0]] = parts.count == 2 ? parts[1].removingPercentEncoding : ""
        }
    }

    @Test("a token in a file is exchanged at Google's token service (RFC 8693)")
    func file() async throws {
        let provider = try Provider(["/sts": Self.federated])
        let directory = try TemporaryDirectory()
        let path = directory.path + "/token"
        try "eyJ.a+/=.b\n".write(toFile: path, atomically: true, encoding: .utf8)
        let identity = try FCMExternalAccount(
            try Self.file(provider, source: #"{"file":"\#(path)"}"#), project: "p")
        #expect(try await Self.run(identity) == Self.token("ya29.fed", 1800))
        let request = try #require(provider.requests.value.first)
        #expect(request.method == "POST" && provider.requests.value.count == 1)
        #expect(
            Self.form(request) == [
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                "audience": Self.audience,
                "scope": "https://www.googleapis.com/auth/firebase.messaging",
                "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
                "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                "subject_token": "eyJ.a+/=.b",
            ])
        // It is read anew each time: its provider exchanges it.
        try FileManager.default.removeItem(atPath: path)
        #expect(try await Self.run(identity) == .refused(.subjectToken))
    }

    @Test("a token from an address is taken out of its document, and an account impersonated")
    func url() async throws {
        let provider = try Provider([
            "/subject?resource=a": (200, #"{"access_token":"subject","n":[{"m":1.5}]}"#),
            "/sts": Self.federated, "/a:generateAccessToken": Self.account,
        ])
        let source = #"""
            {"url":"\#(provider.url)/subject?resource=a","headers":{"Metadata":"True"},
             "format":{"type":"json","subject_token_field_name":"access_token"}}
            """#
        let identity = try FCMExternalAccount(
            try Self.file(provider, source: source, isImpersonated: true), project: "p")
        #expect(try await Self.run(identity) == Self.token("ya29.account", 3600))
        let requests = provider.requests.value
        #expect(requests.count == 3 && requests[0]["metadata"] == "True")
        #expect(Self.form(requests[1])["subject_token"] == "subject")
        #expect(
            Self.form(requests[1])["scope"] == "https://www.googleapis.com/auth/cloud-platform")
        #expect(requests[2]["authorization"] == "Bearer ya29.fed")
        let body = try JSONValue(parsing: requests[2].body)
        #expect(body["lifetime"].text == "3600s")
        #expect(
            body["scope"].elements.map(\.text)
                == ["https://www.googleapis.com/auth/firebase.messaging"])
    }

    @Test(
        "each step that is refused says which it was, and one that is broken may pass",
        arguments: [
            ("/subject", (404, ""), FCMTokenExchange.Outcome.refused(.subjectToken)),
            ("/subject", (200, " \n"), .refused(.subjectToken)),
            ("/subject", (503, ""), .failed(retryAfter: 0)),
            ("/sts", (400, #"{"error":"invalid_grant"}"#), .refused(.subjectToken)),
            (
                "/sts", (400, #"{"error":"invalid_target"}"#),
                .refused(.exchangeRefused(status: 400))
            ),
            ("/sts", (403, ""), .refused(.exchangeRefused(status: 403))),
            ("/sts", (500, ""), .failed(retryAfter: 0)),
            (
                "/a:generateAccessToken", (403, "{}"),
                .refused(.impersonationRefused(status: 403))
            ),
            ("/a:generateAccessToken", (429, ""), .failed(retryAfter: 0)),
            ("/a:generateAccessToken", (200, "{}"), .failed(retryAfter: 0)),
            (
                "/a:generateAccessToken",
                (200, #"{"accessToken":"a b","expireTime":"2026-11-22T16:00:00Z"}"#),
                .failed(retryAfter: 0)
            ),
        ])
    func refusals(
        _ path: String, _ answer: (Int, String), _ outcome: FCMTokenExchange.Outcome
    ) async throws {
        var answers = [
            "/subject": (200, "subject"), "/sts": Self.federated,
            "/a:generateAccessToken": Self.account,
        ]
        answers[path] = answer
        let provider = try Provider(answers)
        let file = try Self.file(
            provider, source: #"{"url":"\#(provider.url)/subject"}"#, isImpersonated: true)
        #expect(try await Self.run(FCMExternalAccount(file, project: "p")) == outcome)
    }

    @Test("the metadata server gives the machine's own token")
    func metadata() async throws {
        let path = "/computeMetadata/v1/instance/service-accounts/default/token"
        let provider = try Provider([path: Self.federated], field: "Metadata-Flavor: Google")
        let identity = try FCMMetadataServer(project: "p", host: provider.host)
        #expect(identity.projectID == "p")
        #expect(try await Self.run(identity) == Self.token("ya29.fed", 1800))
        let request = try #require(provider.requests.value.first)
        #expect(request.method == "GET" && request["metadata-flavor"] == "Google")
        let none = try Provider([:], field: "metadata-flavor:Google")
        let other = try FCMMetadataServer(project: "p", host: none.host)
        #expect(try await Self.run(other) == .refused(.exchangeRefused(status: 404)))
        // Another server at its address, which knows nothing of it.
        let foreign = try Provider([path: Self.federated])
        let stranger = try FCMMetadataServer(project: "p", host: foreign.host)
        #expect(try await Self.run(stranger) == .refused(.metadataServer))
        #expect(throws: FCMCredentialError.projectMissing) {
            try FCMMetadataServer(project: nil, host: nil)
        }
        for host in ["", "a b", "10.0.0.1", "metadata.example.org", "a/b@c"] {
            #expect(throws: FCMCredentialError.metadataHost) {
                try FCMMetadataServer(project: "p", host: host)
            }
        }
    }

    @Test("a file that lacks something is refused by its name, and so is what is not supported")
    func members() throws {
        let source = #"{"file":"/token"}"#
        func expect(
            _ error: FCMCredentialError, source: String = source,
            _ change: (String) -> String = { $0 }
        ) throws {
            let file = try Self.file(nil, source: source, isImpersonated: true, change)
            #expect(throws: error) { try FCMExternalAccount(file, project: "p") }
        }
        for name in ["audience", "subject_token_type", "token_url"] {
            try expect(.member(name)) { $0.replacing("\"\(name)\"", with: "\"x\"") }
        }
        try expect(.member("token_url")) { $0.replacing("https://sts", with: "http://sts") }
        try expect(.member("service_account_impersonation_url")) {
            $0.replacing("https://sts.googleapis.com/a:", with: "ftp://a/")
        }
        try expect(
            .member("subject_token_field_name"), source: #"{"file":"a","format":{"type":"json"}}"#)
        try expect(.member("credential_source.url"), source: #"{"url":"http://example.org/"}"#)
        for header in [
            #"{"Host":"a"}"#, #"{"a b":"c"}"#, #"{"a":true}"#, #"{"a":""}"#, #"{"a":"b\nc"}"#, "[]",
            #""a: b""#,
        ] {
            try expect(
                .member("credential_source.headers"),
                source: #"{"url":"https://a/","headers":\#(header)}"#)
        }
        for source in [
            "{}", #"{"executable":{"command":"a"}}"#, #"{"certificate":{}}"#,
            #"{"environment_id":"aws1","url":"http://169.254.169.254/"}"#,
        ] {
            try expect(.sourceUnsupported, source: source)
        }
        let file = try Self.file(nil, source: #"{"url":"http://169.254.169.254/metadata"}"#)
        #expect(try FCMExternalAccount(file, project: "p").projectID == "p")
        #expect(throws: FCMCredentialError.projectMissing) {
            try FCMExternalAccount(file, project: nil)
        }
    }

    @Test("a member of another kind is refused by its name, and not passed over")
    func kinds() throws {
        func expect(_ name: String, _ members: String, source: String = #"{"file":"a"}"#) throws {
            let file = try Self.file(nil, source: source) { $0.dropLast() + ",\(members)}" }
            #expect(throws: FCMCredentialError.member(name)) {
                try FCMExternalAccount(file, project: "p")
            }
        }
        let (url, options) = ("service_account_impersonation_url", "service_account_impersonation")
        for value in ["1", "true", "[]", "{}"] { try expect(url, "\"\(url)\":\(value)") }
        for value in ["1", "true", "[]", "\"a\""] { try expect(options, "\"\(options)\":\(value)") }
        let lifetime = "token_lifetime_seconds"
        for value in ["599", "43201", "-1", "\"3600\"", "true", "null"] {
            try expect(lifetime, #""\#(options)":{"\#(lifetime)":\#(value)}"#)
        }
        for source in ["1", "[]", "\"a\""] {
            try expect("credential_source", "\"x\":1", source: source)
        }
        try expect("credential_source.file", "\"x\":1", source: #"{"file":1}"#)
        try expect("credential_source.url", "\"x\":1", source: #"{"url":1}"#)
        for format in ["1", "\"json\"", #"{"type":"xml"}"#, #"{"type":1}"#] {
            try expect(
                "credential_source.format", "\"x\":1", source: #"{"file":"a","format":\#(format)}"#)
        }
        try expect(
            "subject_token_field_name", "\"x\":1",
            source: #"{"file":"a","format":{"type":"json","subject_token_field_name":1}}"#)
    }

    @Test("a token lives no longer than was asked for, whatever this machine's clock says")
    func clock() async throws {
        let answer = (200, #"{"accessToken":"ya29.a","expireTime":"2026-11-22T19:00:00Z"}"#)
        let provider = try Provider([
            "/subject": (200, "a b"), "/sts": Self.federated, "/a:generateAccessToken": answer,
        ])
        let options = #""service_account_impersonation":{"token_lifetime_seconds":1200}"#
        let file = try Self.file(
            provider, source: #"{"url":"\#(provider.url)/subject"}"#, isImpersonated: true
        ) { $0.dropLast() + ",\(options)}" }
        let identity = try FCMExternalAccount(file, project: "p")
        #expect(try await Self.run(identity) == Self.token("ya29.a", 1200))
        #expect(Self.form(provider.requests.value[1])["subject_token"] == "a b")
    }

    @Test("the type in the file says which it is; only one without secrets may be read by others")
    func types() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/account.json"
        let text = #"""
            {"type":"external_account","audience":"a","subject_token_type":"b",
             "token_url":"https://sts.googleapis.com/v1/token","credential_source":{"file":"/t"}}
            """#
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let section = ["key": path, "project": "p"]
        let configuration = try #require(try FCMConfiguration(section: section))
        #expect(try configuration.credentials() is FCMExternalAccount)
        let other = text.replacing("external_account", with: "service_account")
        try other.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: FCMCredentialError.file(.notPrivate(mode: 0o644))) {
            try configuration.credentials()
        }
    }

    @Test("every new refusal says what to do in two lines")
    func messages() {
        for error in [
            FCMCredentialError.member("audience"), .sourceUnsupported, .projectMissing,
            .metadataHost,
        ] {
            #expect(error.message.split(separator: "\n").count == 2)
        }
    }
}
