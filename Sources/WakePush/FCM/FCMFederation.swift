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
            let text = file[name].text
            guard !text.isEmpty else { throw .member(name) }
            return text
        }
        audience = try text("audience")
        subjectTokenType = try text("subject_token_type")
        let address = try text("token_url")
        guard let url = FCMCredentials.url(address) else { throw .member("token_url") }
        tokenURL = url
        (source, member) = try Self.source(file["credential_source"])
        let impersonation = file["service_account_impersonation_url"].text
        impersonationURL = FCMCredentials.url(impersonation)
        guard impersonation.isEmpty || impersonationURL != nil else {
            throw .member("service_account_impersonation_url")
        }
        let options = file["service_account_impersonation"]
        lifetime = options["token_lifetime_seconds"].integer ?? FCMAssertion.lifetime
        guard (600...43_200).contains(lifetime) else { throw .member("token_lifetime_seconds") }
    }

    private static func source(
        _ source: JSONValue
    ) throws(FCMCredentialError) -> (Source, member: String?) {
        let format = source["format"]
        let isJSON = format["type"].text == "json"
        let name = format["subject_token_field_name"].text
        guard !isJSON || !name.isEmpty else { throw .member("subject_token_field_name") }
        let member = isJSON ? name : nil
        let (file, address) = (source["file"].text, source["url"].text)
        if !file.isEmpty { return (.file(file), member) }
        guard !address.isEmpty, source["environment_id"] == .null else { throw .sourceUnsupported }
        guard let url = FetchURL(metadata: address) else { throw .member("credential_source.url") }
        guard case .object(let headers) = source["headers"] else { return (.url(url, []), member) }
        var fields: [FetchField] = []
        for name in headers.keys.sorted() {
            guard let field = FetchField(named: name, Array(headers[name]?.text.utf8 ?? "".utf8))
            else { throw .member("credential_source.headers") }
            fields.append(field)
        }
        return (.url(url, fields), member)
    }

    package func token(
        by exchange: FCMTokenExchange, now: Int
    ) async -> FCMTokenExchange.Outcome {
        do throws(FCMTokenExchange.Outcome) {
            var form = form(try await subjectToken(exchange))
            defer { form.wipe() }
            let federated = await exchange.token(
                tokenURL, .post, [FCMTokenExchange.formType], body: form)
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
            document = (try? Files.readGiven(path, limit: FCMCredentials.fileLimit)) ?? []
        case .url(let url, let fields):
            document = try await exchange.document(url, .get, fields) { _ in .subjectToken }
        }
        if let member {
            document = Array(((try? JSONValue(parsing: document)) ?? .null)[member].text.utf8)
        }
        let token = document.filter { $0 > 0x20 }
        guard !token.isEmpty else { throw .refused(.subjectToken) }
        return token
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
        let answer = try await exchange.document(
            url, .post, fields, body: Array(body.utf8)
        ) { .impersonationRefused(status: $0) }
        guard let document = try? JSONValue(parsing: answer),
            case .string(let text) = document["accessToken"], FCMTokenResponse.isToken(text),
            let end = HTTPDate.seconds(ofTimestamp: document["expireTime"].text)
        else { throw .failed(retryAfter: 0) }
        let left = Int(end) - now
        guard left >= FCMTokenExchange.lifetimes.lowerBound else { throw .failed(retryAfter: 0) }
        return .token(
            SecretBytes(text), lifetime: min(left, FCMTokenExchange.lifetimes.upperBound))
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
        await exchange.token(url, .get, [FetchField("Metadata-Flavor", "Google")])
    }
}
