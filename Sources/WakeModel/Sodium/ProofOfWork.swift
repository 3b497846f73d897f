import WakeSystem

/// The proof of work of a registration: BLAKE2b-256 of a label, the challenge, the nonce and the
/// instance token, in this order, begins with zero bits, of which the challenge says how many. It
/// is good for one token alone.
package enum ProofOfWork {
    private static let label: StaticString = "reveille-proof-1"
    /// The most bits that a client works for: a minute of one core.
    package static let mostBits = 26

    /// Whether the proof solves its challenge: one hash.
    package static func isSolved(
        by proof: RegistrationProof, token: InstanceToken, bits: Int
    ) -> Bool {
        let nonce = proof.nonce
        return search(nonce..<nonce + 1, challenge: proof.challenge, token: token, bits: bits)
            != nil
    }

    /// The first of the nonces that solves the challenge.
    /// - Parameters:
    ///   - nonces: below 2^48.
    ///   - challenge: 24 bytes.
    package static func search(
        _ nonces: Range<UInt64>, challenge: [UInt8], token: InstanceToken, bits: Int
    ) -> UInt64? {
        // The token is written into its place: bytes of it are never moved, and wiped below.
        var message: [UInt8] = []
        message.append(text: label)
        message += challenge
        let place = message.count
        message += repeatElement(0, count: RegistrationProof.nonceBytes + InstanceToken.byteCount)
        defer { message.wipe() }
        token.bytes.withSpan { token in
            let start = place + RegistrationProof.nonceBytes
            for index in token.indices { message[start + index] = token[index] }
        }
        for nonce in nonces {
            for index in 0..<RegistrationProof.nonceBytes {
                message[place + index] = UInt8(truncatingIfNeeded: nonce >> (40 - 8 * index))
            }
            if Blake2b.start(of: message.span).leadingZeroBitCount >= bits { return nonce }
        }
        return nil
    }
}
