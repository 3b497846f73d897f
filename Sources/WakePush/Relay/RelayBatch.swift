package import WakeModel
import WakeSystem

/// The body of `POST /v1/relay/wakes`: push tokens, and the lifetime of their wake-ups. Without any
/// it asks whether the relay is there.
package struct RelayBatch: Sendable, Equatable, Redacted {
    /// Seconds.
    package let lifetime: Int
    /// The response refers to them by position.
    package let tokens: [PushToken]

    package static let maximumWakes = 1000
    /// Seconds: no push service keeps anything for more than 28 days (FCM, "ttl").
    package static let lifetimes = 0...2_419_200
    /// The services whose push tokens only the app's owner can wake.
    package static let services: [PushService] = [.apns, .apnsSandbox, .fcm]
    /// The most bytes of a body without its wakes.
    private static let frameBytes = 64

    /// - Parameter tokens: up to `maximumWakes`, of `services`, that fit.
    package init(lifetime: Int, tokens: [PushToken]) {
        precondition(Self.lifetimes.contains(lifetime))
        precondition(tokens.allSatisfy { Self.services.contains($0.service) })
        precondition(Self.count(of: tokens) == tokens.count, "a batch too large")
        self.lifetime = lifetime
        self.tokens = tokens
    }

    /// The number of these, from the first, that fit into one batch.
    package static func count(of tokens: some Sequence<PushToken>) -> Int {
        var count = 0
        var bytes = frameBytes
        for token in tokens {
            bytes += size(of: token)
            guard count < maximumWakes, bytes <= RelayRequest.maximumBytes else { break }
            count += 1
        }
        return count
    }

    /// Bytes of one element, with its comma.
    private static func size(of token: PushToken) -> Int {
        let text =
            switch token.service {
            case .apns, .apnsSandbox: token.bytes.count * 2
            case .fcm, .webPush:
                // RFC 8259 §7: of visible ASCII, two characters are escaped.
                token.bytes.withSpan { bytes in
                    bytes.indices.reduce(bytes.count) { count, index in
                        let isEscaped = bytes[index] == 0x22 || bytes[index] == 0x5C
                        return isEscaped ? count + 1 : count
                    }
                }
            }
        return #"{"service":"","token":""},"#.utf8.count + token.service.name.count + text
    }

    // MARK: JSON

    /// The body as JSON; the caller wipes it.
    package func body() -> [UInt8] {
        // Allocated once: an array that grows leaves copies behind.
        let size = tokens.reduce(Self.frameBytes) { $0 + Self.size(of: $1) }
        var body = JSONText(capacity: size)
        body.beginObject()
        body.member("lifetime", number: lifetime)
        body.beginArray("wakes")
        for token in tokens {
            body.beginObject()
            body.member("service", string: token.service.name)
            token.text().withSpan { body.member("token", string: $0) }
            body.endObject()
        }
        body.endArray()
        body.endObject()
        return body.bytes
    }

    /// Parses a body; the caller wipes it. One malformed token makes the whole batch malformed.
    /// - Throws: the rule that the body breaks, never its content.
    package init(body: [UInt8]) throws(RelayBatchError) {
        guard body.count <= RelayRequest.maximumBytes else { throw .tooLarge }
        var members = RelayBatchMembers()
        do throws(JSONError) {
            try JSONScanner.readObject(body) { scanner, name throws(JSONError) in
                try members.read(name, &scanner)
            }
        } catch { throw members.error ?? .json(error) }
        guard let lifetime = members.lifetime, let tokens = members.tokens
        else { throw .json(.missingMember) }
        guard Self.lifetimes.contains(lifetime) else { throw .malformed }
        self.lifetime = lifetime
        self.tokens = tokens
    }

    package var description: String { "(\(tokens.count) wake-ups)" }
}

package enum RelayBatchError: Error, Equatable, Sendable {
    case json(JSONError)
    /// Not a lifetime.
    case malformed
    /// More wakes or bytes than a batch may have.
    case tooLarge
    case unknownService
    case token(PushTokenError)
}

/// The members of a body while it is parsed.
private struct RelayBatchMembers {
    private(set) var lifetime: Int?
    private(set) var tokens: [PushToken]?
    /// The error beyond JSON that ended the parsing.
    private(set) var error: RelayBatchError?

    mutating func read(_ name: [UInt8], _ scanner: inout JSONScanner) throws(JSONError) {
        if name.span.equals("lifetime") {
            lifetime = try scanner.integer()
        } else if name.span.equals("wakes") {
            tokens = []
            try scanner.array { (scanner) throws(JSONError) in try readWake(&scanner) }
        } else {
            throw .unknownMember
        }
    }

    private mutating func readWake(_ scanner: inout JSONScanner) throws(JSONError) {
        guard (tokens?.count ?? 0) < RelayBatch.maximumWakes else { return try fail(.tooLarge) }
        var serviceName: [UInt8]?
        var secret: SecretBytes?
        try scanner.object { (scanner, name) throws(JSONError) in
            if name.span.equals("service") {
                serviceName = try scanner.string()
            } else if name.span.equals("token") {
                var text = try scanner.string()
                secret = SecretBytes(text)
                text.wipe()
            } else {
                throw .unknownMember
            }
        }
        guard let serviceName, let secret else { throw .missingMember }
        guard let service = PushService(name: serviceName.span),
            RelayBatch.services.contains(service)
        else { return try fail(.unknownService) }
        do throws(PushTokenError) {
            let token = try secret.withSpan { (text) throws(PushTokenError) in
                try PushToken(service: service, text: text)
            }
            tokens?.append(token)
        } catch { try fail(.token(error)) }
    }

    private mutating func fail(_ error: RelayBatchError) throws(JSONError) {
        self.error = error
        throw .malformed
    }
}
