import WakeModel

/// What a body says, while it is read.
struct RelayBatchContents {
    private(set) var lifetime: Int?
    private(set) var tokens: [PushToken]?
    /// What is wrong beyond JSON; reading ends with it.
    private(set) var fault: RelayBatchError?

    mutating func read(_ scanner: inout JSONScanner) throws(JSONError) {
        try scanner.object { (scanner, name) throws(JSONError) in
            if name.span.equals("lifetime") {
                lifetime = try scanner.integer()
            } else if name.span.equals("wakes") {
                tokens = []
                try scanner.array { (scanner) throws(JSONError) in try readWake(&scanner) }
            } else {
                throw .unknownMember
            }
        }
    }

    private mutating func readWake(_ scanner: inout JSONScanner) throws(JSONError) {
        guard (tokens?.count ?? 0) < RelayBatch.maximumWakes else { return try refuse(.tooLarge) }
        var word: [UInt8]?
        var secret: SecretBytes?
        try scanner.object { (scanner, name) throws(JSONError) in
            if name.span.equals("service") {
                word = try scanner.string()
            } else if name.span.equals("token") {
                var text = try scanner.string()
                secret = SecretBytes(text)
                wipe(&text)
            } else {
                throw .unknownMember
            }
        }
        guard let word, let secret else { throw .missingMember }
        guard let service = PushService(word: word.span), RelayBatch.services.contains(service)
        else { return try refuse(.unknownService) }
        do throws(PushTokenError) {
            let token = try secret.withSpan { (text) throws(PushTokenError) in
                try PushToken(service: service, text: text)
            }
            tokens?.append(token)
        } catch {
            try refuse(.token(error))
        }
    }

    private mutating func refuse(_ fault: RelayBatchError) throws(JSONError) {
        self.fault = fault
        throw .malformed
    }
}
