import TestSupport
import Testing
import WakeHTTP
import WakeModel
import WakeSystem

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
            #expect(key.bits(of: proof, for: token, now: start + 599 * Self.second) == 8)
            #expect(key.bits(of: proof, for: token, now: start + 600 * Self.second) == nil)
            #expect(key.bits(of: proof, for: try Self.token(2), now: start) == nil)
            #expect(ChallengeKey().bits(of: proof, for: token, now: start) == nil)
        }
    }

    @Test("a proof lets a registration in once; asking again for the same one is not counted")
    func once() throws {
        let room = RegistrationBudget.Room(rows: 1000, lifeSeconds: 86_400)
        let free = RegistrationBudget.Free(atOnce: 1, perDay: 1)
        let new = NewRegistrations(
            RegistrationBudget(room, perPrefix: 16, free: free), fill: { 0 }, now: { 0 })
        func question(
            _ token: InstanceToken, _ proof: RegistrationProof? = nil
        ) throws -> @Sendable () -> Bool {
            try #require(new.question(token, proof: proof, from: .network(nil)))
        }
        let first = try question(try Self.token(1))
        #expect(first() && first())
        #expect(new.admitted.now == 1)
        let token = try Self.token(2)
        #expect(try !question(token)())
        let problem = try #require(Self.challenge(new.challenge(for: token)))
        let proof = try Self.solve(problem, token)
        let second = try question(token, proof)
        #expect(second() && second())
        #expect(try !question(token, proof)())
        #expect(new.admitted.now == 2)
    }

    @Test(
        "of a hundred thousand tries with proofs of one place, and between them, each counts once")
    func replayed() throws {
        var used = UsedProofs()
        func proof(_ number: UInt64, nonce: UInt64 = 0) -> RegistrationProof {
            // The marks of all are equal in their low bits, which a table would use.
            let mark = (0..<8 as Range<UInt64>).map {
                UInt8(truncatingIfNeeded: (number << 24) >> (8 * $0))
            }
            let head = [UInt8](repeating: 7, count: ChallengeKey.headBytes)
            let bytes = head + mark + [UInt8](repeating: 1, count: 11)
            return RegistrationProof(challenge: bytes, nonce: nonce)
        }
        var counted = 0
        for number in 0..<100_000 as Range<UInt64> {
            // Two in turn, a new one, and a former one with another nonce.
            for tried in [proof(number % 2), proof(number), proof(number / 2, nonce: number)]
            where used.allows(tried) {
                used.insert(tried, now: number * Self.second / 200)
                counted += 1
            }
        }
        #expect(counted == 100_000)
        // When there is no room left none is forgotten: no new one counts.
        for number in 100_000..<200_000 as Range<UInt64> where used.allows(proof(number)) {
            used.insert(proof(number), now: 599 * Self.second)
        }
        #expect(used.fill == 1 && !used.allows(proof(0)) && !used.allows(proof(1 << 30)))
    }

    @Test(
        "behind a relay that fills its share what is stored takes as many requests as what is not")
    func relayed() throws {
        let room = RegistrationBudget.Room(rows: 1000, lifeSeconds: 86_400)
        let new = NewRegistrations(
            RegistrationBudget(room, perPrefix: 16, free: RegistrationBudget.free(room)),
            fill: { 0 }, now: { 0 }, draw: { 0 })
        var filled = 0
        while let question = new.question(try Self.token(1), proof: nil, from: .oblivious) {
            #expect(question())
            filled += 1
        }
        // Those before the store is asked: of what it has nothing depends.
        // Each counts as the grain of 31, 7.
        #expect(filled == 4)
        let token = try Self.token(2)
        let challenge = try #require(Self.challenge(new.challenge(for: token)))
        let proof = try Self.solve(challenge, token)
        let question = try #require(new.question(token, proof: proof, from: .oblivious))
        #expect(question())
        // From a network what is stored is never asked.
        #expect(new.question(token, proof: nil, from: .network(nil)) != nil)
    }

    @Test("what is remembered of used proofs is as long as they are good, and 20 minutes at most")
    func forgotten() throws {
        var random = SplitMix64(seed: 3)
        var used = UsedProofs()
        var inserted: [(proof: RegistrationProof, at: UInt64)] = []
        var now = 1000 * Self.second
        // Often enough that forgetting comes by new ones, and by the clock alone at the end.
        for _ in 0..<60 {
            let bytes = (0..<24).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let proof = RegistrationProof(challenge: bytes, nonce: 0)
            used.insert(proof, now: now)
            inserted.append((proof, now))
            now += random.next() % 200 * Self.second
            for (proof, time) in inserted where now - time <= 600 * Self.second {
                #expect(!used.allows(proof))
            }
            for (proof, time) in inserted where now - time > 1400 * Self.second {
                #expect(used.allows(proof))
            }
        }
        #expect(!used.isEmpty)
        for _ in 0..<2 {
            now += 600 * Self.second
            used.forget(now: now)
        }
        #expect(used.isEmpty && inserted.allSatisfy { used.allows($0.proof) })
    }

    private static func challenge(_ response: Response) -> RegistrationChallenge? {
        guard case .bytes(let body) = response.body else { return nil }
        return RegistrationChallenge(problem: body)
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
