package import WakeModel

/// The body of `POST /v1/relay/wakes`: which push tokens to wake, and how long the push service is
/// to keep a wake-up for a device that is off.
package struct RelayBatch: Sendable, Equatable {
    /// Seconds.
    package let lifetime: Int
    /// In the order in which the answer counts them.
    package let tokens: [PushToken]

    /// Wake-ups in one batch at most.
    package static let maximumWakes = 1000
    /// Seconds: 28 days is the most that a push service keeps anything (FCM, "ttl").
    package static let lifetimes = 0...2_419_200
    /// Whose push tokens go through a relay: those that only the app's owner can wake.
    package static let services: [PushService] = [.apns, .apnsSandbox, .fcm]

    /// Bytes of a body without its wakes, at most.
    private static let frameBytes = 64

    /// - Parameter tokens: 1 to `maximumWakes`, of `services`, that fit.
    package init(lifetime: Int, tokens: [PushToken]) {
        precondition(Self.lifetimes.contains(lifetime) && !tokens.isEmpty)
        precondition(tokens.allSatisfy { Self.services.contains($0.service) })
        precondition(Self.count(of: tokens) == tokens.count, "a batch too large")
        self.lifetime = lifetime
        self.tokens = tokens
    }

    /// How many of these, from the first, fit into one batch.
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
        let text: Int
        switch token.service {
        case .apns, .apnsSandbox: text = token.bytes.count * 2
        case .fcm, .webPush:
            // RFC 8259 §7: of visible ASCII, two characters are escaped.
            text = token.bytes.withSpan { bytes in
                bytes.indices.reduce(bytes.count) { count, index in
                    switch bytes[index] {
                    case UInt8(ascii: "\""), UInt8(ascii: "\\"): count + 1
                    default: count
                    }
                }
            }
        }
        return #"{"service":"","token":""},"#.utf8.count + token.service.word.utf8CodeUnitCount
            + text
    }

    // MARK: JSON

    /// The body; whoever is done with it wipes it.
    package func body() -> [UInt8] {
        // All of it at once: what grows leaves copies behind.
        let size = tokens.reduce(Self.frameBytes) { $0 + Self.size(of: $1) }
        var body = JSONText(capacity: size)
        body.beginObject()
        body.member("lifetime", number: lifetime)
        body.beginArray("wakes")
        for token in tokens {
            body.beginObject()
            body.member("service", string: token.service.word)
            token.text().withSpan { body.member("token", string: $0) }
            body.endObject()
        }
        body.endArray()
        body.endObject()
        return body.bytes
    }

    /// From a body; whoever is done with it wipes it.
    /// - Throws: which rule the body breaks, never its content. One token that is malformed makes
    ///   the whole batch so.
    package init(body: [UInt8]) throws(RelayBatchError) {
        guard body.count <= RelayRequest.maximumBytes else { throw .tooLarge }
        var contents = RelayBatchContents()
        do {
            var scanner = try JSONScanner(body)
            try scanner.document { (scanner) throws(JSONError) in
                try contents.read(&scanner)
            }
        } catch {
            throw contents.fault ?? .json(error)
        }
        guard let lifetime = contents.lifetime, let tokens = contents.tokens else {
            throw .json(.missingMember)
        }
        guard Self.lifetimes.contains(lifetime), !tokens.isEmpty else { throw .malformed }
        self.lifetime = lifetime
        self.tokens = tokens
    }
}

/// Which rule a batch breaks.
package enum RelayBatchError: Error, Equatable, Sendable {
    case json(JSONError)
    /// Not a lifetime, or no wakes at all.
    case malformed
    /// More wakes or bytes than a batch may have.
    case tooLarge
    /// A service that no relay wakes.
    case unknownService
    case token(PushTokenError)
}

extension RelayBatch: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(\(tokens.count) wake-ups)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
