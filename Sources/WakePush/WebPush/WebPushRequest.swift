package import WakeFetch
package import WakeModel
import WakeSystem

/// The request of a round (RFC 8030 §5): only the endpoint and the token of its origin vary. To a
/// subscription with keys the body is one encrypted byte (RFC 8291). Browsers drop, and Mozilla
/// refuses, one in clear: without keys their push services get none, which Microsoft's never
/// delivers. UnifiedPush asks for 1 to 4096 bytes: `byte` sends one (ntfy shows "triggered" for an
/// empty body).
package struct WebPushRequest: Sendable {
    /// `TTL` at most: four weeks, as FCM has it; Mozilla cuts at 60 days by itself.
    package static let longestLifetime = 2_419_200
    /// RFC 8030 §5.4: a wake-up replaces the one before that was not delivered yet.
    package static let topic: StaticString = "wake"
    private static let message = [UInt8(ascii: "1")]
    /// Bytes of an answer that are read.
    package static let answerLimit = 4096

    private let lifetime: Int
    private let body: WebPushConfiguration.Body
    private let port: UInt16
    private let timeout: FetchTimeout

    /// - Parameters:
    ///   - lifetime: seconds the push service keeps the wake-up for a device that is off.
    ///   - port: of the connection; the URL always says 443.
    package init(
        lifetime: Int, body: WebPushConfiguration.Body, port: UInt16 = 443,
        timeout: Duration = .seconds(10)
    ) {
        precondition(lifetime > 0)
        self.lifetime = min(lifetime, Self.longestLifetime)
        self.body = body
        self.port = port
        self.timeout = FetchTimeout(connect: timeout, total: timeout, throughput: .idle(timeout))
    }

    /// The connection goes to one of `addresses`, which are checked.
    /// - Throws: `invalidURL` when the endpoint may not be sent to or its keys are none.
    package func fetch(
        _ endpoint: PushToken, host: [UInt8], authorization: SecretBytes, addresses: [IPAddress]
    ) throws(FetchError) -> FetchRequest {
        let url = endpoint.withAddress { EndpointPolicy.url($0) }
        guard let url, url.scheme == .https, url.port == 443 else { throw .invalidURL }
        let encrypted = try encrypted(for: endpoint)
        let content = encrypted ?? content(host: host)
        var fields = [
            FetchField("TTL", Array(String(lifetime).utf8)),
            // RFC 8030 §5.3: also on devices that save power, but not at once.
            FetchField("Urgency", "normal"),
            FetchField("Topic", Self.topic),
            FetchField("Authorization", authorization.copy()),
        ]
        if encrypted != nil { fields.append(FetchField("Content-Encoding", "aes128gcm")) }
        if content != nil { fields.append(FetchField("Content-Type", "application/octet-stream")) }
        return FetchRequest(
            url, method: .post, fields: fields, body: content, limit: Self.answerLimit,
            timeout: timeout, purpose: .gateway,
            pin: PinnedAddresses(addresses: addresses, port: port), allowsHTTP2: true)
    }

    private func encrypted(for endpoint: PushToken) throws(FetchError) -> [UInt8]? {
        guard let keys = endpoint.keys else { return nil }
        do throws(SigningError) {
            return try EncryptedMessage(Self.message, to: keys).bytes
        } catch { throw error == .keyMalformed ? .invalidURL : .outOfResources }
    }

    private func content(host: [UInt8]) -> [UInt8]? {
        guard body == .byte, !PushHostKind(name: host).isBrowser else { return nil }
        return Self.message
    }
}
