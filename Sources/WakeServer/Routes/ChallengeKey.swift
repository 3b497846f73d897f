import WakeModel
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
            time(now) &- head.span.littleEndian(at: 0) < Self.seconds
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
/// one proof would count as the work of many, and make it harder for everybody else. None is
/// forgotten before its challenge is good no more. Beyond `most` none counts until some are.
struct UsedProofs: Sendable {
    /// 218 registrations a second with the work that is asked then, in 4 MiB at most.
    static let most = 1 << 17

    private var marks: Set<UInt64> = []
    /// Those of the ten minutes before.
    private var former: Set<UInt64> = []
    /// When `marks` began.
    private var begin: UInt64 = 0

    private var count: Int { marks.count + former.count }
    var isEmpty: Bool { count == 0 }
    /// The part of the room that is taken.
    var fill: Double { Double(count) / Double(Self.most) }

    /// Whether a proof would be the first of its challenge, whatever its nonce.
    func allows(_ proof: RegistrationProof) -> Bool {
        let mark = mark(proof)
        return count < Self.most && !marks.contains(mark) && !former.contains(mark)
    }

    mutating func insert(_ proof: RegistrationProof, now: UInt64) {
        forget(now: now)
        if isEmpty { begin = now }
        marks.insert(mark(proof))
    }

    /// Forgets what was inserted twice the life of a challenge ago.
    mutating func forget(now: UInt64) {
        let (age, life) = (now - min(begin, now), UInt64(ChallengeKey.seconds) * 1_000_000_000)
        guard !isEmpty, age >= life else { return }
        former = age < 2 * life ? marks : []
        marks = []
        begin = now
    }

    /// Of the keyed hash in its challenge. Who finds two challenges with one gets one proof less.
    private func mark(_ proof: RegistrationProof) -> UInt64 {
        proof.challenge.span.littleEndian(at: ChallengeKey.headBytes)
    }
}
