import WakeFetch
import WakeModel
package import WakeSystem

/// The service account of a Firebase project, from the console's JSON file.
package struct FCMCredentials: FCMIdentity, Redacted {
    package let projectID: String
    /// `iss`: the service account's e-mail address.
    let clientEmail: String
    /// `kid`: the key within the account; old files may lack it.
    let privateKeyID: String?
    let key: RSAKey
    /// The address for exchanging assertions and their `aud`, exactly as in the file.
    let audience: String
    let tokenURL: FetchURL

    /// Reads the file; one that others can read is refused.
    package init(file path: String, project: String? = nil) throws(FCMCredentialError) {
        var text = try mapError(
            FCMCredentialError.file, Files.readSecret(path, limit: Self.fileLimit))
        defer { text.wipe() }
        Self.dropMark(&text)
        try self.init(json: text, project: project)
    }

    /// Some editors begin a file with a byte order mark, which JSON has not (RFC 8259 §8.1).
    private static func dropMark(_ text: inout [UInt8]) {
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text.removeFirst(3) }
    }

    /// The identity in a file, by its type; one without secrets may be readable to others.
    package static func identity(
        file path: String, project: String?
    ) throws(FCMCredentialError) -> any FCMIdentity {
        if var text = try? Files.readLinked(path, limit: fileLimit) {
            defer { text.wipe() }
            dropMark(&text)
            let type = JSONScanner.text(of: "type", in: text)
            if type?.elementsEqual("external_account".utf8) == true {
                guard let file = try? JSONValue(parsing: text) else { throw .fileMalformed }
                return try FCMExternalAccount(file, project: project)
            }
        }
        return try FCMCredentials(file: path, project: project)
    }

    package func token(
        by exchange: FCMTokenExchange, now: Int
    ) async -> FCMTokenExchange.Outcome {
        guard let assertion = FCMAssertion(self, now: now) else { return .refused(.cannotSign) }
        return await exchange.token(
            tokenURL, .post, [FCMTokenExchange.formType], body: FCMTokenExchange.form(assertion))
    }

    /// Throws for the first member that is missing or malformed.
    /// - Parameter project: instead of the file's, for an account of another one.
    init(json: [UInt8], project: String? = nil) throws(FCMCredentialError) {
        var members = try Self.members(json)
        defer { for name in members.keys { members[name]?.wipe() } }
        func text(
            _ name: String, _ fault: FCMCredentialError, _ isGood: ([UInt8]) -> Bool
        ) throws(FCMCredentialError) -> String {
            guard let value = members[name], isGood(value) else { throw fault }
            return String(decoding: value, as: UTF8.self)
        }
        guard let type = members["type"], type.span.equals("service_account") else { throw .type }
        if let project {
            projectID = project
        } else {
            projectID = try text("project_id", .projectID) { Self.isProject($0) }
        }
        clientEmail = try text("client_email", .clientEmail, Self.isEmail)
        audience = try text("token_uri", .tokenURI) { $0.count <= FetchURL.maximumLength }
        guard let url = Self.url(audience) else { throw .tokenURI }
        tokenURL = url
        privateKeyID =
            members["private_key_id"] == nil
            ? nil : try text("private_key_id", .privateKeyID, Self.isKeyID)
        guard let pem = members["private_key"] else { throw .key(.keyMalformed) }
        key = try mapError(FCMCredentialError.key) { () throws(SigningError) in
            try RSAKey(pem: pem.span)
        }
    }

    /// The text members of the file, by name. Google adds members; those are passed over.
    private static func members(_ json: [UInt8]) throws(FCMCredentialError) -> [String: [UInt8]] {
        let wanted = [
            "type", "project_id", "private_key_id", "private_key", "client_email", "token_uri",
        ]
        var members: [String: [UInt8]] = [:]
        try mapError({ _ in FCMCredentialError.fileMalformed }) { () throws(JSONError) in
            try JSONScanner.readObject(json) { scanner, name throws(JSONError) in
                let name = String(decoding: name, as: UTF8.self)
                guard wanted.contains(name) else { return try scanner.skip() }
                members[name] = try scanner.string()
            }
        }
        return members
    }

    /// Bytes of a file at most: one with 2048 bits has about 2400.
    static let fileLimit = 16_384

    /// Letters, digits, hyphens; in old projects full stops and a colon. It goes into the path.
    static func isProject(_ text: some Collection<UInt8>) -> Bool {
        (1...128).contains(text.count)
            && text.allSatisfy { $0.isAlphanumeric || "-.:".utf8.contains($0) }
            && !text.elementsEqual(".".utf8) && !text.elementsEqual("..".utf8)
    }

    private static func isEmail(_ text: [UInt8]) -> Bool {
        (3...320).contains(text.count) && text.contains(UInt8(ascii: "@"))
            && text.allSatisfy { (0x21...0x7E).contains($0) }
    }

    private static func isKeyID(_ text: [UInt8]) -> Bool {
        (1...128).contains(text.count) && text.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// `https`, or `http` on this machine: what goes there is worth an access token.
    static func url(_ text: String) -> FetchURL? {
        guard let url = try? FetchURL(text) else { return nil }
        return url.scheme == .https || url.reach == .loopback ? url : nil
    }
}

/// The reason why the service-account file cannot be used, without any of its content.
package enum FCMCredentialError: Error, Equatable, Sendable {
    case file(SecretFileError)
    case fileMalformed, type, projectID, clientEmail, privateKeyID, tokenURI
    /// A file of workload identity federation lacks a member, or its source is not supported.
    case member(String), sourceUnsupported
    /// No `project` beside credentials that name none.
    case projectMissing, metadataHost
    case key(SigningError)

    package var message: String { "[fcm] key: \(description)" }

    private static let fresh = "use the JSON file of a service account as downloaded"

    private var description: String {
        switch self {
        case .file(let error):
            error.message(
                source: "name the JSON file as downloaded, owned by the user of this service")
        case .fileMalformed: "the file is not JSON as Google gives it out\nhint: " + Self.fresh
        case .type:
            "the file is not of a service account or external account\nhint: in the Firebase "
                + "console: Project settings, Service accounts, Generate new private key"
        case .member(let name):
            "\(name) is missing or not of the form Google gives\nhint: use the file that gcloud "
                + "iam workload-identity-pools create-cred-config writes"
        case .sourceUnsupported:
            "credential_source is neither a file nor a url\n"
                + "hint: make the file with --credential-source-file or --credential-source-url"
        case .projectMissing:
            "these credentials name no project\nhint: set project in [fcm] to the ID of the "
                + "Firebase project"
        case .metadataHost:
            "GCE_METADATA_HOST is no host\n"
                + "hint: remove it, or set it to the metadata server's host and port"
        case .projectID: "project_id is missing or not a project's\nhint: " + Self.fresh
        case .clientEmail: "client_email is missing or no address\nhint: " + Self.fresh
        case .privateKeyID: "private_key_id is not of the form Google gives\nhint: " + Self.fresh
        case .tokenURI: "token_uri is missing or not an https address\nhint: " + Self.fresh
        case .key(.keyMalformed): "private_key holds no readable private key\nhint: " + Self.fresh
        case .key(.keyOfOtherKind): "private_key is not an RSA key\nhint: " + Self.fresh
        case .key(.keyOfOtherSize):
            "private_key has fewer than 2048 bits, or more than 8192\nhint: " + Self.fresh
        case .key(let error): error.message
        }
    }
}
