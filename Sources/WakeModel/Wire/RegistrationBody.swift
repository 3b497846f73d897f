import WakeSystem

/// The body of `PUT /v1/registration`: exactly `service` and `token` (or `endpoint`).
package enum RegistrationBody {
    /// - Throws: the rule of the protocol that the body breaks, never its content.
    package static func decode(_ body: [UInt8]) throws(RegistrationBodyError) -> PushToken {
        var service: PushService?
        var secret: (member: Member, text: SecretBytes)?
        do {
            var scanner = try JSONScanner(body)
            try scanner.document { (scanner) throws(JSONError) in
                try scanner.object { (scanner, name) throws(JSONError) in
                    switch Member(name.span) {
                    case .service:
                        let word = try scanner.string()
                        service = PushService(name: word.span)
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
        do {
            return try secret.text.withSpan { (text) throws(PushTokenError) in
                try PushToken(service: service, text: text)
            }
        } catch { throw .token(error) }
    }

    /// The body for a push token, padded with white space to one length for all tokens.
    package static func encode(_ token: PushToken) -> [UInt8] {
        var body = JSONText()
        body.beginObject()
        body.member("service", string: token.service.name)
        token.text().withSpan { body.member(token.service.member, string: $0) }
        body.endObject()
        body.pad(to: Limits.paddedBodyBytes)
        return body.bytes
    }

    private enum Member {
        case service
        case token
        case endpoint

        init?(_ name: Span<UInt8>) {
            if name.equals("service") {
                self = .service
            } else if name.equals("token") {
                self = .token
            } else if name.equals("endpoint") {
                self = .endpoint
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
