import Synchronization
import WakeModel

/// The search for a proof of work, beside everything else that the client does.
final class ProofSearch: Sendable {
    private let challenge: RegistrationChallenge
    private let token: InstanceToken
    private let isStopped = Atomic(false)

    /// What is asked for may grow while it is computed: so often in one attempt.
    static let rounds = 4
    /// A search that takes longer is given up, and another one begun later.
    static let longest = Duration.seconds(300)
    /// Some milliseconds, after which others get their turn.
    private static let part: UInt64 = 8192

    init(_ challenge: RegistrationChallenge, _ token: InstanceToken) {
        self.challenge = challenge
        self.token = token
    }

    /// The proof is not wanted any more; from any thread.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// - Returns: nil when stopped, cancelled or `isOver` before it was found, or asked too much.
    @concurrent
    func run(_ isOver: @Sendable () -> Bool) async -> RegistrationProof? {
        guard challenge.bits <= ProofOfWork.mostBits else { return nil }
        var nonce: UInt64 = 0
        while !isStopped.load(ordering: .relaxed), !Task.isCancelled, !isOver() {
            let found = ProofOfWork.search(
                nonce..<nonce + Self.part, challenge: challenge.bytes, token: token,
                bits: challenge.bits)
            if let found { return RegistrationProof(challenge: challenge.bytes, nonce: found) }
            nonce += Self.part
            await Task.yield()
        }
        return nil
    }
}
