/// Everything the service holds under one instance token: both columns, and what they decode to.
package struct StoredRegistration: Sendable, Equatable {
    package let generation: Generation
    /// The id column, 32 bytes.
    package let id: [UInt8]
    /// The sealed column, 552 bytes.
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
package struct RegistrationAnswer: Sendable, Equatable {
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
            text.member("service", string: stored.token.service.word)
            stored.token.text().withSpan {
                text.member(stored.token.service.member, string: $0)
            }
            text.endObject()
        }
        text.member("policy", string: policyHash)
        text.endObject()
        text.pad(to: Limits.registrationAnswerBytes)
        return text.bytes
    }

    package static func decode(_ bytes: [UInt8]) throws(JSONError) -> RegistrationAnswer {
        var fields = Fields()
        var scanner = try JSONScanner(bytes)
        try scanner.document { (scanner) throws(JSONError) in
            try scanner.object { (scanner, name) throws(JSONError) in
                try fields.read(name.span, from: &scanner)
            }
        }
        return try fields.answer()
    }

    private struct Fields {
        var stored: Bool?
        var generation: Generation?
        var id: [UInt8]?
        var sealed: [UInt8]?
        var service: PushService?
        var token: [UInt8]?
        var policy: String?

        mutating func read(
            _ name: Span<UInt8>, from scanner: inout JSONScanner
        ) throws(JSONError) {
            if name.equals("stored") {
                stored = try scanner.bool()
            } else if name.equals("generation") {
                let word = try scanner.string()
                generation = Generation.allCases.first { word.span.equals($0.word) }
            } else if name.equals("policy") {
                policy = String(decoding: try scanner.string(), as: UTF8.self)
            } else if name.equals("columns") {
                try scanner.object { (scanner, name) throws(JSONError) in
                    let text = try scanner.string()
                    if name.span.equals("id") {
                        id = Hex.decode(text.span)
                    } else {
                        sealed = Hex.decode(text.span)
                    }
                }
            } else if name.equals("decoded") {
                try scanner.object { (scanner, name) throws(JSONError) in
                    let text = try scanner.string()
                    if name.span.equals("service") {
                        service = PushService(word: text.span)
                    } else {
                        token = text
                    }
                }
            } else {
                throw .unknownMember
            }
        }

        func answer() throws(JSONError) -> RegistrationAnswer {
            guard let stored, let policy else { throw .missingMember }
            guard stored else { return RegistrationAnswer(stored: nil, policyHash: policy) }
            guard let generation, let id, let sealed else { throw .missingMember }
            let registration = StoredRegistration(
                generation: generation, id: id, sealed: sealed, token: try pushToken())
            return RegistrationAnswer(stored: registration, policyHash: policy)
        }

        private func pushToken() throws(JSONError) -> PushToken {
            guard let service, let token else { throw .missingMember }
            do {
                return try PushToken(service: service, text: token.span)
            } catch {
                throw .malformed
            }
        }
    }
}
