import Glibc
import WakeFetch
import WakeModel
import WakeSystem

/// An identity of another provider, which Google's token service takes for one of its own
/// (workload identity federation, AIP-4117; RFC 8693): no key of Google's exists.
package struct FCMExternalAccount: FCMIdentity, Redacted {
    /// The place of the other provider's token.
    private enum Source: Sendable {
        case file(String)
        case url(FetchURL, [FetchField])
    }

    package let projectID: String
    private let audience: String
    private let subjectTokenType: String
    private let tokenURL: FetchURL
    private let source: Source
    /// The member that holds the token in a JSON document; nil: all of the text is the token.
    private let member: String?
    /// The address that gives out tokens of a service account; nil: the federated one is used.
    private let impersonationURL: FetchURL?
    /// Seconds of such a token.
    private let lifetime: Int

    private static let platform = "https://www.googleapis.com/auth/cloud-platform"

    /// Throws for the first member that is missing or malformed.
    init(_ file: JSONValue, project: String?) throws(FCMCredentialError) {
        guard let project else { throw .projectMissing }
        projectID = project
        func text(_ name: String) throws(FCMCredentialError) -> String {
            guard let text = try Self.text(file[name], name) else { throw .member(name) }
            return text
        }
        audience = try text("audience")
        subjectTokenType = try text("subject_token_type")
        let address = try text("token_url")
        guard let url = FCMCredentials.url(address) else { throw .member("token_url") }
        tokenURL = url
        (source, member) = try Self.source(file["credential_source"])
        let name = "service_account_impersonation_url"
        let impersonation = try Self.text(file[name], name)
        impersonationURL = impersonation.flatMap(FCMCredentials.url)
        guard (impersonation == nil) == (impersonationURL == nil) else { throw .member(name) }
        lifetime = try Self.lifetime(file["service_account_impersonation"])
    }

    /// A text that may be absent; another kind of value is a fault and never passed over.
    private static func text(
        _ value: JSONValue, _ name: String
    ) throws(FCMCredentialError) -> String? {
        switch value {
        case .null: return nil
        case .string: return value.text.isEmpty ? nil : value.text
        case .bool, .number, .array, .object: throw .member(name)
        }
    }

    /// The members of an object that may be absent.
    private static func members(
        _ value: JSONValue, _ name: String
    ) throws(FCMCredentialError) -> [String: JSONValue] {
        switch value {
        case .null: return [:]
        case .object(let members): return members
        case .bool, .number, .array, .string: throw .member(name)
        }
    }

    private static func lifetime(_ options: JSONValue) throws(FCMCredentialError) -> Int {
        let name = "token_lifetime_seconds"
        guard let value = try members(options, "service_account_impersonation")[name] else {
            return FCMAssertion.lifetime
        }
        guard let seconds = value.integer, (600...43_200).contains(seconds) else {
            throw .member(name)
        }
        return seconds
    }

    private static func source(
        _ source: JSONValue
    ) throws(FCMCredentialError) -> (Source, member: String?) {
        _ = try members(source, "credential_source")
        let member = try subjectMember(source["format"])
        if let file = try text(source["file"], "credential_source.file") {
            return (.file(file), member)
        }
        guard source["environment_id"] == .null,
            let address = try text(source["url"], "credential_source.url")
        else { throw .sourceUnsupported }
        guard let url = FetchURL(metadata: address) else { throw .member("credential_source.url") }
        let headers = try members(source["headers"], "credential_source.headers")
        var fields: [FetchField] = []
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            guard let field = FetchField(named: name, Array(value.text.utf8))
            else { throw .member("credential_source.headers") }
            fields.append(field)
        }
        return (.url(url, fields), member)
    }

    /// The member that holds the token; nil for a format that is text alone.
    private static func subjectMember(_ format: JSONValue) throws(FCMCredentialError) -> String? {
        let name = "credential_source.format"
        let members = try members(format, name)
        switch try text(members["type"] ?? .null, name) {
        case nil, "text": return nil
        case "json":
            let name = "subject_token_field_name"
            guard let member = try text(members[name] ?? .null, name) else { throw .member(name) }
            return member
        default: throw .member(name)
        }
    }

    package func token(
        by exchange: FCMTokenExchange, now: Int
    ) async -> FCMTokenExchange.Outcome {
        do throws(FCMTokenExchange.Outcome) {
            var form = form(try await subjectToken(exchange))
            defer { form.wipe() }
            let federated = await exchange.token(
                tokenURL, .post, [FCMTokenExchange.formType], body: form)
            // RFC 6749 §5.2: here the grant is the other provider's token.
            if federated == .refused(.grantRefused) { return .refused(.subjectToken) }
            guard let impersonationURL, case .token(let token, _) = federated else {
                return federated
            }
            return try await impersonate(impersonationURL, token, exchange, now)
        } catch { return error }
    }

    private func subjectToken(
        _ exchange: FCMTokenExchange
    ) async throws(FCMTokenExchange.Outcome) -> [UInt8] {
        var document: [UInt8]
        switch source {
        case .file(let path):
            // Often a link that its provider exchanges (Kubernetes, projected volumes).
            document = (try? Files.readLinked(path, limit: FCMCredentials.fileLimit)) ?? []
        case .url(let url, let fields):
            document = try await exchange.document(url, .get, fields) { _ in .subjectToken }
        }
        defer { document.wipe() }
        if let member { document = JSONScanner.text(of: member, in: document) ?? [] }
        guard let start = document.firstIndex(where: { $0 > 0x20 }),
            let end = document.lastIndex(where: { $0 > 0x20 })
        else { throw .refused(.subjectToken) }
        return Array(document[start...end])
    }

    /// RFC 8693 §2.1, as a form.
    private func form(_ subjectToken: [UInt8]) -> [UInt8] {
        let type = "urn:ietf:params:oauth:token-type:access_token"
        let scope = impersonationURL == nil ? FCMAssertion.scope.description : Self.platform
        let members = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("audience", audience), ("scope", scope), ("requested_token_type", type),
            ("subject_token_type", subjectTokenType),
        ]
        let form = members.flatMap { Array("\($0)=".utf8) + Self.escaped($1.utf8) + "&".utf8 }
        return form + "subject_token=".utf8 + Self.escaped(subjectToken)
    }

    /// application/x-www-form-urlencoded; what is not unreserved is escaped (RFC 3986 §2.3).
    private static func escaped(_ text: some Collection<UInt8>) -> [UInt8] {
        text.flatMap { byte in
            byte.isAlphanumeric || "-._~".utf8.contains(byte)
                ? [byte] : [UInt8(ascii: "%")] + Hex.encode([byte].span)
        }
    }

    /// A token of the service account (iamcredentials, generateAccessToken).
    private func impersonate(
        _ url: FetchURL, _ token: SecretBytes, _ exchange: FCMTokenExchange, _ now: Int
    ) async throws(FCMTokenExchange.Outcome) -> FCMTokenExchange.Outcome {
        let body = #"{"scope":["\#(FCMAssertion.scope)"],"lifetime":"\#(lifetime)s"}"#
        let fields = [
            FetchField("Authorization", FCMRequest.authorization(token)),
            FetchField("Content-Type", "application/json"),
        ]
        var answer = try await exchange.document(
            url, .post, fields, body: Array(body.utf8)
        ) { .impersonationRefused(status: $0) }
        defer { answer.wipe() }
        guard var text = JSONScanner.text(of: "accessToken", in: answer) else {
            throw .failed(retryAfter: 0)
        }
        defer { text.wipe() }
        let timestamp = JSONScanner.text(of: "expireTime", in: answer) ?? []
        let end = HTTPDate.seconds(ofTimestamp: String(decoding: timestamp, as: UTF8.self))
        guard FCMTokenResponse.isToken(text), let end else { throw .failed(retryAfter: 0) }
        // This machine's clock may be wrong; no token lives longer than was asked for.
        let left = min(Int(end) - now, lifetime)
        guard left >= FCMTokenExchange.lifetimes.lowerBound else { throw .failed(retryAfter: 0) }
        return .token(SecretBytes(text), lifetime: left)
    }
}

/// The service account of this machine at Google, by its metadata server (cloud.google.com,
/// "Authenticate workloads using attached service accounts").
package struct FCMMetadataServer: FCMIdentity {
    package let projectID: String
    private let url: FetchURL

    private static let path = "/computeMetadata/v1/instance/service-accounts/default/token"

    /// - Parameter host: and port, as Google's own libraries take it from the environment.
    package init(
        project: String?, host: String? = environmentHost
    ) throws(FCMCredentialError) {
        guard let project else { throw .projectMissing }
        projectID = project
        let authority = host ?? FetchURL.metadataHosts[0]
        guard let url = FetchURL(metadata: "http://\(authority)\(Self.path)") else {
            throw .metadataHost
        }
        self.url = url
    }

    private static var environmentHost: String? {
        unsafe getenv("GCE_METADATA_HOST").map { unsafe String(cString: $0) }
    }

    package func token(
        by exchange: FCMTokenExchange, now: Int
    ) async -> FCMTokenExchange.Outcome {
        // Google asks to look for it in the answer too: what else listens there is not its server.
        let flavor = FetchField("Metadata-Flavor", "Google")
        return await exchange.token(url, .get, [flavor], expected: flavor)
    }
}
