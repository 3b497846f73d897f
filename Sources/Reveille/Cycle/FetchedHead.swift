import WakeFeed
import WakeFetch
import WakeSystem

/// The answers to the requests for a head, which every client makes alike: the file `head`, with
/// the head's proof, whether it is checked or not, and the feed's keys where the head cannot be
/// verified without.
struct FetchedHead {
    /// The head and its proof.
    let bytes: [UInt8]
    /// Seconds since 1970 by the server's clock, which is not signed.
    let date: Int64?
    /// The file `keys`; nil when it was not asked for.
    let keys: Result<[UInt8], ClientError>?
    private let verifier: HeadVerifier

    init(
        of addresses: FeedAddresses, after cursor: FeedCursor,
        through transport: any ClientTransport, counting meter: TrafficMeter? = nil
    ) async throws(ClientError) {
        func fetch(
            _ url: FetchURL, _ limit: Int
        ) async throws(ClientError) -> (bytes: [UInt8], response: FetchResponse) {
            let reserved = try meter?.reserve(limit)
            let request = FetchRequest(url, limit: limit, purpose: .feed)
            let answer = try await transport.body(of: request)
            if let reserved {
                try meter?.settle(min(answer.bytes.count, reserved), reserved: reserved)
            }
            return answer
        }
        let answer = try await fetch(addresses.head, FeedLimits.headFileBytes)
        let verifier = HeadVerifier(cursor: cursor, key: addresses.key)
        var keys: Result<[UInt8], ClientError>?
        if verifier.needsKeys(for: answer.bytes.span) {
            // The head may be of use without.
            do throws(ClientError) {
                keys = .success(try await fetch(addresses.keys, FeedLimits.keysBytes).bytes)
            } catch {
                guard error != .cancelled else { throw .cancelled }
                keys = .failure(error)
            }
        }
        (bytes, date) = (answer.bytes, answer.response.date)
        (self.keys, self.verifier) = (keys, verifier)
    }

    /// The file `keys` was requested and did not come, or is malformed.
    var lacksKeys: Bool {
        guard let keys else { return false }
        guard let bytes = try? keys.get() else { return true }
        return (try? KeyChain(bytes.span)) == nil
    }

    /// - Parameter accepted: the newest head that was accepted; nil when this is known to be it.
    func verify(
        against accepted: FeedHead? = nil, now: Int64, hint: UInt64? = nil
    ) throws(FeedError) -> VerifiedHead {
        try verifier.verify(
            bytes.span, keys: try? keys?.get(), accepted: accepted, now: now, hint: hint)
    }

    /// Checks the proof; the head's publisher must not have shown another log than `known`.
    func prove(
        _ verified: VerifiedHead, under policy: WitnessPolicy, after known: LogCursor?, now: Int64
    ) throws(ClientError) -> HeadProofVerifier.Verified {
        try mapError({ ClientError.unwitnessed(.init($0)) }) { () throws(HeadProofFault) in
            try HeadProofVerifier(policy: policy, cursor: known)
                .verify(bytes, of: verified, now: now)
        }
    }

    /// Seconds by which the server's clock is ahead of this one; nil when it is about the same.
    func serverAhead(of now: Int64) -> Int64? {
        date.map { $0 - now }.flatMap { abs($0) > FeedLimits.clockToleranceSeconds ? $0 : nil }
    }

    /// The server's clock is so far off that it could not serve the head, unlike this device's.
    func isServersClockWrong(at now: Int64, _ head: FeedHead) -> Bool {
        guard let ahead = serverAhead(of: now) else { return false }
        return head.isInForce(at: now) && !head.isInForce(at: now + ahead)
    }
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
