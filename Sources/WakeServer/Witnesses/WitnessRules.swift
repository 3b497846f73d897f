package import WakeFeed
import WakePublish
import WakeSystem

/// The judgement of one `add-checkpoint` request, each with the status that C2SP tlog-witness gives
/// it.
package enum WitnessVerdict: Sendable, Equatable {
    /// 400: no request, or its old size is above the checkpoint's.
    case malformed
    /// 404: the witness does not know the log.
    case unknownOrigin
    /// 403: no signature of a key of the log, or one that claims to be and is not.
    case notSigned
    /// 409: the latest checkpoint that was cosigned has this size.
    case conflict(size: UInt64)
    /// 422: the tree does not begin with the one that was cosigned last.
    case inconsistent
    /// 422 as well: the log has signed two trees of one size.
    case forked
    /// 200, once the record is durable: the checkpoint with the log's signatures, those of unknown
    /// keys left out.
    case consistent(LogCheckpoint, SignedNote)
}

/// The rules of C2SP tlog-witness, `add-checkpoint`, in the order in which they answer.
package enum WitnessRules {
    /// - Parameters:
    ///   - log: the known log of an origin.
    ///   - latest: what was cosigned last for this log.
    package static func judge(
        _ body: [UInt8], log: ([UInt8]) -> WitnessedLog?, latest: ([UInt8]) -> CosignedCheckpoint?
    ) -> WitnessVerdict {
        guard let request = AddCheckpointRequest(body) else { return .malformed }
        let (signed, checkpoint) = (request.checkpoint, request.checkpoint.checkpoint)
        // A log whose record is missing is not known: what it holds was forgotten.
        guard let log = log(checkpoint.origin), let latest = latest(checkpoint.origin) else {
            return .unknownOrigin
        }
        guard let verified = try? signed.note.verify(log.keys),
            verified.contains(where: { $0 != nil })
        else { return .notSigned }
        guard request.oldSize <= checkpoint.size else { return .malformed }
        guard request.oldSize == latest.size else { return .conflict(size: latest.size) }
        guard checkpoint.size > 0 || checkpoint.root == MerkleTree.emptyRoot else {
            return .inconsistent
        }
        if checkpoint.size == latest.size, checkpoint.root != latest.root { return .forked }
        guard request.isConsistent(withRoot: latest.root) else { return .inconsistent }
        let signatures = log.keys.compactMap { key in
            signed.note.signatures.first(where: key.matches)
        }
        return .consistent(checkpoint, SignedNote(text: signed.note.text, signatures: signatures))
    }
}
