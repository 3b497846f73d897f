import WakeModel
import WakeSodium
import WakeSystem

/// Makes challenges and knows them again, without a memory of them: 4 bytes of time, 1 of bits, and
/// a keyed hash of both and the instance token. Nothing can be done with one for another token.
struct ChallengeKey: Sendable {
    private let key = KeyMemory.random()
    /// What the time begins with, so that it tells nothing about the machine's.
    private let offset = UInt32(truncatingIfNeeded: SystemRandom.word())

    static let seconds = 600
    static let headBytes = 5

    func challenge(for token: InstanceToken, bits: Int, now: UInt64) -> RegistrationChallenge {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: time(now))
        bytes.append(UInt8(bits))
        bytes += tag(bytes, token)
        return RegistrationChallenge(bytes: bytes, bits: bits, seconds: Self.seconds)
    }

    /// The bits of a proof; nil when it proves nothing, or no longer. Costs two hashes.
    func bits(of proof: RegistrationProof, for token: InstanceToken, now: UInt64) -> Int? {
        let challenge = proof.challenge
        let head = Array(challenge.prefix(Self.headBytes))
        guard SecretBytes(Array(challenge.dropFirst(head.count))) == SecretBytes(tag(head, token)),
            time(now) &- head.span.littleEndian(at: 0) <= Self.seconds
        else { return nil }
        let bits = Int(head[4])
        return ProofOfWork.isSolved(by: proof, token: token, bits: bits) ? bits : nil
    }

    private func time(_ now: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: now / 1_000_000_000) &+ offset
    }

    private func tag(_ head: [UInt8], _ token: InstanceToken) -> [UInt8] {
        key.withSpan { key in
            let hash = Blake2b(count: RegistrationChallenge.byteCount - Self.headBytes, key: key)
            hash.update(head.span)
            token.bytes.withSpan { hash.update($0) }
            return hash.finish()
        }
    }
}

/// The proofs that let a registration in, as each does once: with a delete after every registration
/// one proof would count as the work of many, and make it harder for everybody else. Of one size: a
/// proof is forgotten for a later one in its place, which took as much work.
struct UsedProofs: Sendable {
    private var marks = [UInt64](repeating: 0, count: 1 << 14)

    func contains(_ proof: RegistrationProof) -> Bool {
        let mark = mark(proof)
        return marks[place(mark)] == mark
    }

    mutating func insert(_ proof: RegistrationProof) {
        let mark = mark(proof)
        marks[place(mark)] = mark
    }

    /// Of the keyed hash in its challenge.
    private func mark(_ proof: RegistrationProof) -> UInt64 {
        proof.challenge.span.littleEndian(at: ChallengeKey.headBytes)
    }

    private func place(_ mark: UInt64) -> Int { Int(mark % UInt64(marks.count)) }
}
