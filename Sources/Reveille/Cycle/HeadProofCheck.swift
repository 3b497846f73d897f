import WakeFeed
import WakeSystem

/// The check of a head's proof under the app's policy of witnesses. The proof is fetched with every
/// head by every client, policy or not, so that nobody sees who checks; without a policy neither
/// the proof nor its absence changes anything.
struct HeadProofCheck {
    let policy: WitnessPolicy
    let profile: ProfileState

    /// - Throws: `unwitnessed`, or why the proof did not come. Then the head before stays in force.
    func verify(
        _ proof: Result<[UInt8], ClientError>, of head: [UInt8], _ verified: VerifiedHead,
        now: Int64
    ) throws(ClientError) -> HeadProofVerifier.Verified? {
        let cursor = profile.record.log
        let bytes: [UInt8]
        do throws(ClientError) { bytes = try proof.get() } catch {
            // A feed without a log answers 404, and so does one that hides it.
            if case .httpStatus(404, _) = error { throw .unwitnessed(.missing) }
            throw error
        }
        let fault: HeadProofFault
        do throws(HeadProofFault) {
            return try HeadProofVerifier(policy: policy, cursor: cursor)
                .verify(bytes, of: head, verified, now: now)
        } catch { fault = error }
        // The publisher has replaced the proof and not the head yet: the same head was proven.
        let known = try profile.database.bytes(.head)
        if fault == .otherHead, cursor != nil, known == head { return nil }
        try record(fault, proof: bytes)
        throw .unwitnessed(ClientError.ProofFault(fault))
    }

    private func record(_ fault: HeadProofFault, proof: [UInt8]) throws(ClientError) {
        switch fault {
        case .noQuorum: try profile.warnOnce(.noQuorum, .noQuorum)
        case .otherHistory:
            // Signed by the publisher and the witnesses: it can be shown to others.
            try? Files.replace(profile.directory.path + "/evidence-log-proof", with: proof.span)
            try profile.warnOnce(.otherHistory, .otherHistory)
        case .malformed, .otherHead, .otherLog, .badSignature, .rollback: break
        }
    }
}

extension ClientError.ProofFault {
    init(_ fault: HeadProofFault) {
        switch fault {
        case .malformed: self = .missing
        case .otherHead: self = .otherHead
        case .otherLog, .badSignature: self = .otherLog
        case .noQuorum: self = .noQuorum
        case .rollback: self = .rollback
        case .otherHistory: self = .otherHistory
        }
    }
}
