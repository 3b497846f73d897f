import WakeFeed
import WakeFetch
import WakeSystem

/// The answers to the requests for a head, which every client makes alike: the head, the feed's
/// keys where the head cannot be verified without, and the head's proof, whether it is checked or
/// not.
struct FetchedHead {
    let bytes: [UInt8]
    /// Seconds since 1970 by the server's clock, which is not signed.
    let date: Int64?
    /// The file `keys`; nil when it was not asked for.
    let keys: Result<[UInt8], ClientError>?
    private let proof: Result<[UInt8], ClientError>
    private let verifier: HeadVerifier

    init(
        of addresses: FeedAddresses, after cursor: FeedCursor,
        through transport: any ClientTransport, counting meter: TrafficMeter? = nil
    ) async throws(ClientError) {
        try meter?.countHead()
        let request = FetchRequest(addresses.head, limit: FeedLimits.headBytes, purpose: .feed)
        let answer = try await transport.body(of: request)
        let verifier = HeadVerifier(cursor: cursor, key: addresses.key)
        var keys: Result<[UInt8], ClientError>?
        if verifier.needsKeys(for: answer.bytes.span) {
            try meter?.countHead()
            keys = try await Self.file(addresses.keys, FeedLimits.keysBytes, by: transport)
        }
        proof = try await Self.file(addresses.proof, FeedLimits.proofBytes, by: transport)
        if case .success(let bytes) = proof { try meter?.countProof(bytes.count) }
        (bytes, date) = (answer.bytes, answer.response.date)
        (self.keys, self.verifier) = (keys, verifier)
    }

    /// A file without which the head may be of use all the same.
    private static func file(
        _ url: FetchURL, _ limit: Int, by transport: any ClientTransport
    ) async throws(ClientError) -> Result<[UInt8], ClientError> {
        do throws(ClientError) {
            let request = FetchRequest(url, limit: limit, purpose: .feed)
            return .success(try await transport.body(of: request).bytes)
        } catch {
            guard error != .cancelled else { throw .cancelled }
            return .failure(error)
        }
    }

    /// The file `keys` was requested and did not come, or is malformed.
    var lacksKeys: Bool {
        guard let keys else { return false }
        guard let bytes = try? keys.get() else { return true }
        return (try? KeyChain(bytes.span)) == nil
    }

    func verify(now: Int64, hint: UInt64? = nil) throws(FeedError) -> VerifiedHead {
        try verifier.verify(bytes.span, keys: try? keys?.get(), now: now, hint: hint)
    }

    /// Checks the proof; the head's publisher must not have shown another log than `known`.
    func prove(
        _ verified: VerifiedHead, under policy: WitnessPolicy, after known: LogCursor?, now: Int64
    ) throws(ClientError) -> HeadProofVerifier.Verified {
        let bytes: [UInt8]
        do throws(ClientError) { bytes = try proof.get() } catch {
            // A feed without a log answers 404, and so does one that hides it.
            if case .httpStatus(404, _) = error { throw .unwitnessed(.missing) }
            throw error
        }
        return try mapError({ ClientError.unwitnessed(.init($0)) }) {
            () throws(HeadProofFault) in
            try HeadProofVerifier(policy: policy, cursor: known)
                .verify(bytes, of: self.bytes, verified, now: now)
        }
    }

    /// Seconds by which the server's clock is ahead of this one; nil when it is about the same.
    func serverAhead(of now: Int64) -> Int64? {
        date.map { $0 - now }.flatMap { abs($0) > FeedLimits.clockToleranceSeconds ? $0 : nil }
    }

    /// The bytes of the proof, as evidence.
    var proofBytes: [UInt8] { (try? proof.get()) ?? [] }
}

extension ClientError.ProofFault {
    fileprivate init(_ fault: HeadProofFault) {
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
