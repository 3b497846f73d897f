import TestSupport
import Testing
import WakeModel
import WakeSodium

@testable import WakeServer

@Suite("Challenges")
struct ChallengeKeyTests {
    private static let second: UInt64 = 1_000_000_000

    private static func token(_ number: UInt8) throws -> InstanceToken {
        let hash = Blake2b.hash([number].span)
        return try #require(InstanceToken(hash))
    }

    private static func solve(
        _ challenge: RegistrationChallenge, _ token: InstanceToken
    ) throws -> RegistrationProof {
        let nonce = ProofOfWork.search(
            0..<1 << 24, challenge: challenge.bytes, token: token, bits: challenge.bits)
        return RegistrationProof(challenge: challenge.bytes, nonce: try #require(nonce))
    }

    @Test("a proof is good for its token and ten minutes, under the key of one process")
    func good() throws {
        let key = ChallengeKey()
        let token = try Self.token(1)
        for start in [0, 77 * Self.second, UInt64(UInt32.max) * Self.second] {
            let challenge = key.challenge(for: token, bits: 8, now: start)
            let proof = try Self.solve(challenge, token)
            #expect(key.bits(of: proof, for: token, now: start) == 8)
            #expect(key.bits(of: proof, for: token, now: start + 600 * Self.second) == 8)
            #expect(key.bits(of: proof, for: token, now: start + 601 * Self.second) == nil)
            #expect(key.bits(of: proof, for: try Self.token(2), now: start) == nil)
            #expect(ChallengeKey().bits(of: proof, for: token, now: start) == nil)
        }
    }

    @Test("no bit of a challenge can be changed, the asked ones least of all")
    func forged() throws {
        let key = ChallengeKey()
        let token = try Self.token(1)
        let challenge = key.challenge(for: token, bits: 12, now: 0)
        for bit in 0..<8 * RegistrationChallenge.byteCount {
            var bytes = challenge.bytes
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            // Also where less work is claimed to be asked for, and done.
            for nonce: UInt64 in 0..<4 {
                let proof = RegistrationProof(challenge: bytes, nonce: nonce)
                #expect(key.bits(of: proof, for: token, now: 0) == nil)
            }
        }
        let solved = try Self.solve(challenge, token)
        let others = (1..<50 as Range<UInt64>).filter {
            let proof = RegistrationProof(challenge: challenge.bytes, nonce: solved.nonce + $0)
            return key.bits(of: proof, for: token, now: 0) != nil
        }
        #expect(others.count < 3)
    }

    @Test("a challenge has one form, and says nothing of the machine's time")
    func form() throws {
        let token = try Self.token(1)
        let other = try Self.token(2)
        let starts = (0..<20).map { _ in
            let key = ChallengeKey()
            let challenge = key.challenge(for: token, bits: 16, now: 0)
            #expect(challenge.bytes.count == 24 && challenge.seconds == 600)
            #expect(key.challenge(for: other, bits: 16, now: 0) != challenge)
            return Array(challenge.bytes.prefix(4))
        }
        #expect(Set(starts).count > 15)
        let sizes = RegistrationBudget.bits.map {
            RegistrationChallenge(bytes: Array(0..<24), bits: $0, seconds: 600).problem().count
        }
        #expect(Set(sizes).count == 1)
    }
}
