import WakeSystem

/// The body of `PUT /v1/registration`: exactly `service` and `token`, or for Web Push `endpoint`
/// and perhaps `keys`, as `PushSubscription.toJSON()` has them; `proof` where the service asked for
/// one.
package struct RegistrationBody {
    package let token: PushToken
    package let proof: RegistrationProof?

    /// - Throws: the rule of the protocol that the body breaks, never its content.
    package init(decoding body: [UInt8]) throws(RegistrationBodyError) {
        var service: PushService?
        var proof: RegistrationProof?
        var secret: (member: Member, text: SecretBytes)?
        var keys: Result<SubscriptionKeys, PushTokenError>?
        var isSubscription = false
        do {
            var scanner = try JSONScanner(body)
            try scanner.document { (scanner) throws(JSONError) in
                try scanner.object { (scanner, name) throws(JSONError) in
                    switch Member(name.span) {
                    case .service:
                        let word = try scanner.string()
                        service = PushService(name: word.span)
                    case .keys: keys = try Self.readKeys(&scanner)
                    case .expirationTime:
                        // Push API §7: when the subscription ends, or null. The push service
                        // tells that as well.
                        try scanner.skipNumberOrNull()
                        isSubscription = true
                    case .proof:
                        proof = RegistrationProof(text: try scanner.string())
                        guard proof != nil else { throw .malformed }
                    case let member? where secret == nil:
                        var text = try scanner.string()
                        secret = (member, SecretBytes(text))
                        text.wipe()
                    default: throw .unknownMember
                    }
                }
            }
        } catch { throw .json(error) }
        guard let service else { throw .unknownService }
        guard let secret, secret.member.matches(service) else { throw .json(.missingMember) }
        guard service == .webPush || keys == nil && !isSubscription else {
            throw .json(.unknownMember)
        }
        self.proof = proof
        do {
            token = try secret.text.withSpan { (text) throws(PushTokenError) in
                guard let keys else { return try PushToken(service: service, text: text) }
                return try PushToken(endpoint: text, keys: keys.get())
            }
        } catch { throw .token(error) }
    }

    private static func readKeys(
        _ scanner: inout JSONScanner
    ) throws(JSONError) -> Result<SubscriptionKeys, PushTokenError> {
        var (p256dh, auth): ([UInt8]?, [UInt8]?)
        defer {
            p256dh?.wipe()
            auth?.wipe()
        }
        try scanner.object { (scanner, name) throws(JSONError) in
            if name.span.equals("p256dh") {
                p256dh = try scanner.string()
            } else if name.span.equals("auth") {
                auth = try scanner.string()
            } else {
                throw .unknownMember
            }
        }
        guard let p256dh, let auth else { throw .missingMember }
        do throws(PushTokenError) {
            return .success(try SubscriptionKeys(p256dh: p256dh.span, auth: auth.span))
        } catch { return .failure(error) }
    }

    /// The body for a push token, padded with white space to one length, whatever is in it.
    package static func encode(
        _ token: PushToken, proof: RegistrationProof? = nil
    ) -> [UInt8] {
        var body = JSONText()
        body.beginObject()
        body.member("service", string: token.service.name)
        token.text().withSpan { body.member(token.service.member, string: $0) }
        token.keys?.addMember(to: &body)
        if let proof { body.member("proof", string: proof.text.span) }
        body.endObject()
        body.pad(to: Limits.paddedBodyBytes)
        return body.bytes
    }

    private enum Member {
        case service
        case token
        case endpoint
        case keys
        case expirationTime
        case proof

        init?(_ name: Span<UInt8>) {
            if name.equals("service") {
                self = .service
            } else if name.equals("token") {
                self = .token
            } else if name.equals("endpoint") {
                self = .endpoint
            } else if name.equals("keys") {
                self = .keys
            } else if name.equals("expirationTime") {
                self = .expirationTime
            } else if name.equals("proof") {
                self = .proof
            } else {
                return nil
            }
        }

        func matches(_ service: PushService) -> Bool {
            service == .webPush ? self == .endpoint : self == .token
        }
    }
}

package enum RegistrationBodyError: Error, Equatable {
    case json(JSONError)
    case unknownService
    case token(PushTokenError)
}
