import WakeSystem

/// Everything the service holds under one instance token: both columns, and what they decode to.
package struct StoredRegistration: Sendable, Equatable {
    package let generation: Generation
    /// The id column, 32 bytes.
    package let id: [UInt8]
    /// The sealed column, 632 bytes.
    package let sealed: [UInt8]
    package let token: PushToken

    package init(generation: Generation, id: [UInt8], sealed: [UInt8], token: PushToken) {
        self.generation = generation
        self.id = id
        self.sealed = sealed
        self.token = token
    }
}

/// The answer to `GET /v1/registration`, of one length for known and unknown instance tokens.
package struct RegistrationResponse: Sendable, Equatable {
    package let stored: StoredRegistration?
    /// Hexadecimal hash of the privacy policy in force.
    package let policyHash: String

    package init(stored: StoredRegistration?, policyHash: String) {
        self.stored = stored
        self.policyHash = policyHash
    }

    package func encode() -> [UInt8] {
        var text = JSONText(capacity: Limits.registrationAnswerBytes)
        text.beginObject()
        text.member("stored", bool: stored != nil)
        if let stored {
            text.member("generation", string: stored.generation.word)
            text.beginObject("columns")
            text.member("id", string: Hex.encode(stored.id.span).span)
            text.member("sealed", string: Hex.encode(stored.sealed.span).span)
            text.endObject()
            text.beginObject("decoded")
            text.member("service", string: stored.token.service.name)
            stored.token.text().withSpan { text.member(stored.token.service.member, string: $0) }
            stored.token.keys?.addMember(to: &text)
            text.endObject()
        }
        text.member("policy", string: policyHash)
        text.endObject()
        text.pad(to: Limits.registrationAnswerBytes)
        return text.bytes
    }

    package static func decode(_ bytes: [UInt8]) throws(JSONError) -> RegistrationResponse {
        let answer = try JSONValue(parsing: bytes)
        guard case .object(let members) = answer else { throw .malformed }
        let known: Set = ["stored", "generation", "policy", "columns", "decoded"]
        guard known.isSuperset(of: members.keys) else { throw .unknownMember }
        guard case .bool(let isStored) = answer["stored"],
            case .string(let policy) = answer["policy"]
        else { throw .missingMember }
        let policyHash = String(decoding: policy, as: UTF8.self)
        guard isStored else { return RegistrationResponse(stored: nil, policyHash: policyHash) }
        let (columns, decoded) = (answer["columns"], answer["decoded"])
        guard
            let generation = Generation.allCases.first(where: {
                answer["generation"].text == $0.word.description
            }), let id = Hex.decode(Array(columns["id"].text.utf8).span),
            let sealed = Hex.decode(Array(columns["sealed"].text.utf8).span),
            let service = PushService(name: Array(decoded["service"].text.utf8).span),
            case .string(let text) = decoded[service.member.description]
        else { throw .missingMember }
        let token = try mapError({ (_: PushTokenError) in JSONError.malformed }) {
            () throws(PushTokenError) in
            guard case .object = decoded["keys"] else {
                return try PushToken(service: service, text: text.span)
            }
            let (point, secret) = (decoded["keys"]["p256dh"].text, decoded["keys"]["auth"].text)
            return try PushToken(
                endpoint: text.span,
                keys: SubscriptionKeys(
                    p256dh: Array(point.utf8).span, auth: Array(secret.utf8).span))
        }
        let stored = StoredRegistration(
            generation: generation, id: id, sealed: sealed, token: token)
        return RegistrationResponse(stored: stored, policyHash: policyHash)
    }
}

/// One of the two pairs of table and keys a registration can live in.
package enum Generation: Sendable, CaseIterable {
    /// Where every `PUT` writes.
    case current
    /// What has not been renewed since the last rotation; destroyed by the next.
    case previous

    package var word: StaticString { self == .current ? "current" : "previous" }
}
