import Glibc
import TestSupport
import WakeModel
import WakePush
import WakeSystem

/// What pushing needs, made anew for each run by `openssl`: a server certificate for `localhost`,
/// and the key that provider tokens are signed with.
struct PushWorkshop {
    static let teamID = "TEAM123456"
    static let keyID = "ABC123DEFG"
    static let topic = "org.example.reveille"

    private let place: StorePlace

    /// Nil when `openssl` is missing.
    init?(in directory: String) {
        place = StorePlace(in: directory)
        let curve = ["-pkeyopt", "ec_paramgen_curve:P-256"]
        let commands = [
            ["req", "-x509", "-newkey", "ec"] + curve + [
                "-nodes", "-keyout", serverKey, "-out", certificate, "-days", "2", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            ],
            ["genpkey", "-algorithm", "EC"] + curve + ["-out", signingKey],
            ["pkey", "-in", signingKey, "-pubout", "-out", publicKey],
        ]
        for command in commands {
            // It says on its standard error what nobody wants to read.
            let words = ["/bin/sh", "-c", "exec openssl \"$@\" 2>/dev/null", "openssl"] + command
            guard MeasuredProcess.run(words) else { return nil }
        }
        _ = unsafe chmod(signingKey, 0o600)
    }

    var certificate: String { path("server.pem") }
    var serverKey: String { path("server.key") }
    var signingKey: String { path("AuthKey.p8") }
    var publicKey: String { path("public.pem") }
    var providerToken: String { path("provider-token") }
    var body: String { path("body.json") }
    var script: String { path("client.js") }

    func write(_ text: String, to path: String) {
        guard let file = unsafe fopen(path, "we") else { return }
        unsafe fputs(text, file)
        unsafe fclose(file)
    }

    /// What every push carries, as the rivals send it too.
    func shape(port: Int, isPlain: Bool = false) -> (RequestTemplate, GatewayEndpoint)? {
        guard var endpoint = GatewayEndpoint.apns(.apns) else { return nil }
        endpoint.host = "localhost"
        endpoint.port = UInt16(port)
        endpoint.authorityFile = certificate
        endpoint.isPlain = isPlain
        return Self.shape(endpoint, signingKey: signingKey, keptIn: providerToken)
            .map { ($0, endpoint) }
    }

    /// - Parameter file: where the provider token is kept from one process to the next.
    static func shape(
        _ endpoint: GatewayEndpoint, signingKey: String, keptIn file: String
    ) -> RequestTemplate? {
        do {
            let credentials = try APNsCredentials(
                teamID: teamID, keyID: keyID, topic: topic, keyFile: signingKey)
            let tokens = try APNsTokenProvider(credentials, tokenFile: file)
            guard case .value(let value, _) = try tokens.credential(at: .system()) else {
                return nil
            }
            return APNsRequest(endpoint, topic: topic, now: Int(time(nil)), lifetime: 7200)
                .template(authorization: value)
        } catch {
            return nil
        }
    }

    /// What every push to FCM carries; nobody looks at the token of access.
    static func shapeOfFCM(_ endpoint: GatewayEndpoint) -> RequestTemplate {
        let access = [UInt8](repeating: UInt8(ascii: "a"), count: 220)
        return FCMRequest(endpoint, projectID: "example-project", lifetime: 7200)
            .template(authorization: Array("Bearer ".utf8) + access)
    }

    private func path(_ name: String) -> String { place.path + "/" + name }
}
