package import WakeFeed
import WakeFetch
import WakePublish
import WakeSystem

/// A publisher's policy in its file, read when it is needed: at each publish, and by the running
/// service every half minute. A change takes effect without a reload.
package enum WitnessFile {
    /// A fault of the file, for the terminal.
    package struct Fault: Error, Equatable, Sendable {
        package let message: String
    }

    /// - Throws: also for a policy that no publish could meet.
    package static func read(_ path: String) throws(Fault) -> WitnessPolicy {
        let bytes = try mapError({ Fault(message: "\($0.reason)") }) { () throws(FileError) in
            try Files.readLinked(path, limit: WitnessPolicy.byteLimit)
        }
        let policy = try mapError({ Fault(message: $0.message) }) {
            () throws(WitnessPolicyError) in try WitnessPolicy(bytes)
        }
        for witness in policy.witnesses {
            if let text = witness.url, address(text) == nil {
                throw Fault(
                    message: "the address of \(witness.label) is none: https://, or http:// on "
                        + "this machine")
            }
        }
        guard policy.isQuorum(reachable(policy)) else {
            throw Fault(
                message: "no quorum can be reached: each witness that is asked needs an address "
                    + "and an Ed25519 key")
        }
        return policy
    }

    /// The places of the witnesses that can be asked, and whose signatures can be verified.
    package static func reachable(_ policy: WitnessPolicy) -> Set<Int> {
        Set(
            policy.witnesses.indices.filter {
                policy.witnesses[$0].url != nil && policy.witnesses[$0].key.key != nil
            })
    }

    /// The address of a witness's `add-checkpoint`, below its submission prefix.
    static func address(_ prefix: String) -> FetchURL? {
        let base = prefix.hasSuffix("/") ? String(prefix.dropLast()) : prefix
        return try? FetchURL(base).appending("add-checkpoint")
    }
}

/// The cosignatures of the checkpoint that is served, as the operator's policy sees them.
struct WitnessFacts: Sendable, Equatable {
    /// Heads in the log.
    let size: Int
    /// Witnesses of the policy that have cosigned.
    let cosigned: Int
    let isQuorum: Bool

    init(size: Int, cosigned: Int, isQuorum: Bool) {
        self.size = size
        self.cosigned = cosigned
        self.isQuorum = isQuorum
    }

    /// - Returns: nil without a policy, and while it or the checkpoint cannot be read.
    init?(policy path: String?, feed directory: String) {
        guard let path, let policy = try? WitnessFile.read(path),
            let signed = try? FeedDirectory(directory).checkpoint(),
            let results = try? signed.note.verify(policy.witnesses.map(\.key))
        else { return nil }
        let places = Set(results.indices.filter { results[$0] != nil })
        size = Int(clamping: signed.checkpoint.size)
        cosigned = places.count
        isQuorum = policy.isQuorum(places)
    }
}
