import WakeFeed
import WakeFetch
import WakeSystem

/// A cycle over the signed feed: head, missing batches in order, local check.
struct FeedCycle: CycleSource {
    let addresses: FeedAddresses
    let dailyByteBudget: Int?
    let cache: FeedCache
    let secrets: any LocalSecrets
    let profile: ProfileState
    let registration: RegistrationKeeper
    let transport: any ClientTransport
    let environment: ClientEnvironment

    private var meter: TrafficMeter? {
        dailyByteBudget.map {
            TrafficMeter(limit: $0, profile: profile, environment: environment)
        }
    }

    func cycle(hint: UInt64?, onLate: () -> Void) async throws(ClientError) -> SyncOutcome {
        let verified = try await newHead(hint: hint)
        let plan = verified.plan
        let (checked, matches) = plan.isEmpty ? (0, 0) : try await checkBatches(of: verified)
        let waiting = plan.count - checked
        let nextDay = try meter?.setWaiting(waiting)
        cache.trim(head: verified.head)
        if !plan.isEmpty { environment.log(.cycleEnded(batches: checked)) }
        if let nextDay {
            return .metered(batches: checked, matches: matches, waiting: waiting, until: nextDay)
        }
        if profile.record.directives.isRetired {
            try registration.retire()
            return .retired
        }
        if verified.freshness == .edgeIsStale { return .behind }
        return plan.isEmpty ? .upToDate : .checked(batches: checked, matches: matches)
    }

    /// Checks the planned batches in order, until the day's quota is used up.
    private func checkBatches(
        of verified: VerifiedHead
    ) async throws(ClientError) -> (checked: Int, matches: Int) {
        let batches = BatchChecker(
            addresses: addresses, cache: cache, meter: meter, profile: profile,
            transport: transport, environment: environment)
        let secrets = LocalSecretSet(try await lentSecrets())
        var (checked, matches) = (0, 0)
        for planned in verified.plan {
            let new: Int?
            do throws(ClientError) {
                new = try await batches.check(planned, of: verified, against: secrets)
            } catch {
                // The last batches of a retired feed are checked first, if they can be.
                if profile.record.directives.isRetired, !error.isTransient {
                    try registration.retire()
                }
                throw error
            }
            guard let new else { break }
            checked += 1
            matches += new
        }
        return (checked, matches)
    }

    private func newHead(hint: UInt64?) async throws(ClientError) -> VerifiedHead {
        try meter?.countHead()
        let request = FetchRequest(addresses.head, limit: FeedLimits.headBytes, purpose: .feed)
        let bytes: [UInt8]
        do throws(ClientError) {
            bytes = try await transport.body(of: request).bytes
        } catch {
            // A captive portal's page is longer than any head, or elsewhere.
            if error.isOfPortal { try recordRefusal(.badFeed) }
            throw error
        }
        let now = environment.wallSeconds()
        let verified: VerifiedHead
        do throws(FeedError) {
            verified = try HeadVerifier(cursor: profile.record.cursor)
                .verify(bytes.span, now: now, hint: hint)
        } catch {
            try refuse(bytes, error)
            throw ClientError(error)
        }
        try accept(verified, now: now)
        cache.keepHead(bytes)
        return verified
    }

    private func accept(_ verified: VerifiedHead, now: Int64) throws(ClientError) {
        let record = profile.record
        // Two histories were seen: nothing that this one says is believed any more.
        guard !record.isForked else { throw .fork }
        var next = record
        var (stale, skew, gaps): (Warning?, Warning?, [Warning]) = (nil, nil, [])
        for warning in verified.warnings {
            switch warning {
            case .gap(let missing):
                gaps.append(.gap(first: missing.lowerBound, last: missing.upperBound))
            case .stale: stale = .stale
            case .clockSkew(let issued): skew = .clockSkew(seconds: issued - now)
            }
        }
        let warnings = next.mark(.stale, stale) + next.mark(.clockSkew, skew) + gaps
        if verified.cursor.newestIssued != record.cursor.newestIssued { next.directivesSeen = now }
        next.cursor = verified.cursor
        next.health.headVerified(now: now)
        try profile.save(next, warnings: warnings, as: .head)
    }

    private func refuse(_ bytes: [UInt8], _ error: FeedError) throws(ClientError) {
        switch error {
        // Truncated: too short for a head, such as the page of a captive portal.
        case .badSignature, .wrongFeed, .malformedHead, .truncated: try recordRefusal(.badFeed)
        case .rollback: try recordRefusal(.rollback)
        case .fork(let sequence):
            cache.keepEvidence(of: sequence, other: bytes, in: profile.directory.path)
            try profile.recordFork(at: sequence)
        case .tooLarge, .corruptBatch: break
        }
    }

    private func recordRefusal(_ trouble: FeedHealth.Trouble) throws(ClientError) {
        var next = profile.record
        let warning = next.health.headRefused(trouble, now: environment.wallSeconds())
        try profile.save(next, warnings: warning.map { [$0] } ?? [], as: .feed)
    }

    func generation(onLate: () -> Void) async throws(ClientError) -> UInt64 {
        do { return try await secrets.generation() } catch { throw .secrets }
    }

    private func lentSecrets() async throws(ClientError) -> [LocalSecret] {
        var lent: [LocalSecret] = []
        do {
            try await secrets.lend { id, bytes in
                if let secret = LocalSecret(id: id, bytes: bytes) { lent.append(secret) }
            }
        } catch {
            throw .secrets
        }
        return lent
    }

    func recheck(onLate: () -> Void) async throws(ClientError) -> Int {
        var (new, damaged) = (0, 0)
        let secrets = LocalSecretSet(try await lentSecrets())
        let cursor = profile.record.cursor
        for (sequence, name) in cache.batches() where sequence <= cursor.sequence {
            guard !Task.isCancelled else { throw .cancelled }
            let found: [FeedMatch]
            do throws(FeedError) {
                found = try cache.matches(in: name, of: cursor.feedID, secrets: secrets)
            } catch {
                cache.drop(name)
                damaged += 1
                continue
            }
            if !found.isEmpty {
                let matches = found.map(Match.init)
                new += try profile.save(profile.record, matches: matches, as: .recheck)
            }
            await Task.yield()
        }
        // Not fetched again: a request caused by a new secret would reveal it.
        if damaged > 0 { environment.log(.keptBatchesDamaged(damaged)) }
        return new
    }

    var quota: DailyQuota? { try? meter?.stored() }

    func eraseCache() { cache.erase() }
}
