import WakeSystem

/// The computing that a service under pressure wants for a new registration, as its answer 429
/// tells it (Policy/PROTOCOL.md).
package struct RegistrationChallenge: Sendable, Equatable {
    package static let byteCount = 24
    /// Of 24 bytes, 32 characters: nothing is left over, so texts are joined as bytes are.
    package static let textCount = 32

    /// Means something to the service alone.
    package let bytes: [UInt8]
    /// Zero bits that the hash of a proof begins with.
    package let bits: Int
    /// How long a proof is taken.
    package let seconds: Int

    /// - Parameter bytes: 24.
    package init(bytes: [UInt8], bits: Int, seconds: Int) {
        precondition(bytes.count == Self.byteCount)
        self.bytes = bytes
        self.bits = bits
        self.seconds = seconds
    }

    /// Reads a problem document (RFC 9457), whose other members may be any; nil when it has none.
    package init?(problem document: [UInt8]) {
        guard let problem = try? JSONValue(parsing: document),
            problem["code"].text == "\(Problem.proofNeeded.code)",
            let bytes = Base64URL.decode(Array(problem["challenge"].text.utf8).span),
            bytes.count == Self.byteCount, let bits = problem["bits"].integer,
            let seconds = problem["seconds"].integer, bits > 0, seconds > 0
        else { return nil }
        self.init(bytes: bytes, bits: bits, seconds: seconds)
    }

    /// The problem document, of one length for all of one status.
    package func problem() -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        text.member("title", string: Problem.proofNeeded.title)
        text.member("status", number: Problem.proofNeeded.status)
        text.member("code", string: Problem.proofNeeded.code)
        text.member("challenge", string: Base64URL.encode(bytes.span).span)
        text.member("bits", number: bits)
        text.member("seconds", number: seconds)
        text.endObject()
        return text.bytes
    }
}

/// A challenge and the nonce that solves it: 40 characters in the body of a `PUT`.
package struct RegistrationProof: Sendable, Equatable {
    package static let nonceBytes = 6
    private static let byteCount = RegistrationChallenge.byteCount + nonceBytes

    /// The challenge, and the nonce with its most significant byte first.
    private let bytes: [UInt8]

    /// - Parameters:
    ///   - challenge: 24 bytes.
    ///   - nonce: below 2^48.
    package init(challenge: [UInt8], nonce: UInt64) {
        precondition(challenge.count == RegistrationChallenge.byteCount && nonce >> 48 == 0)
        bytes = challenge + (0..<6).map { UInt8(truncatingIfNeeded: nonce >> (40 - 8 * $0)) }
    }

    /// - Returns: nil unless it is 40 characters of base64url.
    package init?(text: [UInt8]) {
        guard let bytes = Base64URL.decode(text.span), bytes.count == Self.byteCount
        else { return nil }
        self.bytes = bytes
    }

    package var challenge: [UInt8] { Array(bytes.prefix(RegistrationChallenge.byteCount)) }
    package var nonce: UInt64 { bytes.suffix(Self.nonceBytes).reduce(0) { $0 << 8 | UInt64($1) } }
    package var text: [UInt8] { Base64URL.encode(bytes.span) }
}
