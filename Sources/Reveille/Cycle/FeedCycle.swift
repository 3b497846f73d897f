import FoundationEssentials
import Synchronization
import WakeFeed
import WakeFetch
import WakeSystem

/// A cycle over the signed feed: head, missing batches in order, local check.
struct FeedCycle: CycleSource {
    let addresses: FeedAddresses
    let dailyByteBudget: Int?
    let cache: FeedCache
    let secrets: any LocalSecrets
    /// The app's secrets may be slow to read.
    let app: AppCaller
    let profile: ProfileState
    let registration: RegistrationKeeper
    let transport: PacedTransport
    let environment: ClientEnvironment
    /// nil where registrations go to the service directly.
    let gatewayKeys: GatewayKeys?

    private var meter: TrafficMeter? {
        dailyByteBudget.map {
            TrafficMeter(limit: $0, profile: profile, environment: environment)
        }
    }

    func cycle(
        hint: UInt64?, due: Duration, onLate: () -> Void
    ) async throws(ClientError) -> CycleEnd {
        transport.checkBegins(due: due)
        // The time of a request must not show how many secrets there are: none waits for them.
        let (stored, app, end) = (secrets, app, ReadingEnd())
        async let reading = Self.read(stored, by: app, end)
        let verified = try await newHead(hint: hint)
        await refreshGatewayKeys()
        let early = end.isReached.load(ordering: .acquiring) ? try usable(await reading) : nil
        let batches = BatchChecker(
            addresses: addresses, cache: cache, meter: meter, profile: profile,
            transport: transport, environment: environment)
        let plan = batches.plan(verified)
        var checks = try await batches.check(plan, of: verified, against: early)
        let secrets = if let early { early } else { try usable(await reading) }
        if early == nil, let secrets {
            // They were read late: the batches that came meanwhile are searched in the cache.
            let late = try await batches.check(checks.unsearched, of: verified, against: secrets)
            (checks.checked, checks.matches) = (late.checked, late.matches)
            checks.failure = checks.failure ?? late.failure
        }
        let nextDay = try meter?.setWaiting(checks.waiting)
        if !plan.isEmpty, checks.failure == nil, secrets != nil {
            environment.log(.cycleEnded(batches: checks.checked))
        }
        let isRetired = profile.record.directives.isRetired
        if let failure = checks.failure {
            // The last batches of a retired feed are checked first, if they can be.
            if isRetired, !failure.isTransient { try registration.retire() }
            throw failure
        }
        if isRetired, nextDay == nil { try registration.retire() }
        return (
            outcome(of: checks, isBehind: verified.freshness == .edgeIsStale, until: nextDay),
            secrets == nil ? .secrets : nil
        )
    }

    private func outcome(
        of end: BatchChecker.End, isBehind: Bool, until nextDay: Int64?
    ) -> SyncOutcome {
        if let nextDay {
            return .metered(
                batches: end.checked, matches: end.matches, waiting: end.waiting,
                until: Date(seconds: nextDay))
        }
        if profile.record.directives.isRetired { return .retired }
        if isBehind { return .behind }
        return end.checked == 0
            ? .upToDate : .checked(batches: end.checked, matches: end.matches)
    }

    func renewHead() async throws(ClientError) {
        _ = try await newHead(hint: nil)
        await refreshGatewayKeys()
    }

    /// A failure is the registration's.
    private func refreshGatewayKeys() async {
        guard let gatewayKeys else { return }
        gatewayKeys.name(profile.record.cursor.settings.gatewayKeys)
        try? await gatewayKeys.refresh(through: transport)
    }

    private func newHead(hint: UInt64?) async throws(ClientError) -> VerifiedHead {
        let fetched: FetchedHead
        do throws(ClientError) {
            fetched = try await FetchedHead(
                of: addresses, after: profile.record.cursor, through: transport, counting: meter)
        } catch {
            // A captive portal's page is longer than any head, or elsewhere.
            if error.isOfPortal { try recordRefusal(.badFeed) }
            throw error
        }
        let now = environment.wallSeconds()
        // Mostly the head that was accepted last comes again, and says nothing new.
        let known = profile.accepted
        let isKept = known.map { fetched.bytes.starts(with: $0.bytes) } ?? false
        let verified: VerifiedHead
        do throws(FeedError) {
            verified = try fetched.verify(
                against: isKept ? nil : known?.head, now: now, hint: hint)
        } catch {
            // Without the keys it says nothing that a head does not verify.
            if case .failure(let failure) = fetched.keys, error == .badSignature,
                failure.isTransient
            {
                throw failure
            }
            try refuse(fetched.bytes, error)
            throw ClientError(error)
        }
        let proven = try proven(fetched, verified, now: now)
        try accept(verified, fetched, proven, isKept: isKept, now: now)
        if !isKept { cache.trim(head: verified.head) }
        return verified
    }

    /// - Returns: nil without a policy of witnesses.
    private func proven(
        _ fetched: FetchedHead, _ verified: VerifiedHead, now: Int64
    ) throws(ClientError) -> HeadProofVerifier.Verified? {
        guard let policy = addresses.policy else { return nil }
        do throws(ClientError) {
            return try fetched.prove(
                verified, under: policy, after: profile.record.log, now: now)
        } catch {
            switch error {
            case .unwitnessed(.noQuorum): try profile.warnOnce(.noQuorum, .noQuorum)
            case .unwitnessed(.otherHistory):
                // Signed by the publisher and the witnesses: it can be shown to others.
                try? Files.replace(
                    profile.directory.path + "/evidence-log-proof", with: fetched.bytes.span)
                try profile.warnOnce(.otherHistory, .otherHistory)
            default: break
            }
            throw error
        }
    }

    /// - Parameters:
    ///   - proven: nil without a policy.
    ///   - isKept: whether it is the head that was accepted last.
    private func accept(
        _ verified: VerifiedHead, _ fetched: FetchedHead, _ proven: HeadProofVerifier.Verified?,
        isKept: Bool, now: Int64
    ) throws(ClientError) {
        let record = profile.record
        // Two histories were seen: nothing that this one says is believed any more.
        guard !record.isForked else { throw .fork }
        var next = record
        var (stale, skew, gaps): (Warning?, Warning?, [Warning]) = (nil, nil, [])
        for warning in verified.warnings {
            switch warning {
            case .gap(let missing):
                gaps.append(.gap(first: missing.lowerBound, last: missing.upperBound))
            case .stale:
                // The server's clock is not signed; a false warning of a clock does no harm.
                if let ahead = fetched.serverAhead(of: now),
                    verified.head.isInForce(at: now + ahead)
                {
                    skew = .clockSkew(.seconds(ahead))
                } else {
                    stale = .stale
                }
            case .clockSkew(let issued): skew = .clockSkew(.seconds(issued - now))
            }
        }
        if verified.cursor.newestIssued != record.cursor.newestIssued { next.directivesSeen = now }
        gaps += next.advance(to: verified, now: now).runs.map {
            .gap(first: $0.lowerBound, last: $0.upperBound)
        }
        if let proven { next.log = proven.cursor }
        _ = next.mark(.noQuorum, nil) + next.mark(.otherHistory, nil)
        let cosignature: Warning? = proven?.isStale == true ? .staleCosignature : nil
        let warnings =
            next.mark(.stale, stale) + next.mark(.clockSkew, skew) + gaps
            + next.mark(.staleCosignature, cosignature)
        let bytes = Array(fetched.bytes[..<verified.head.byteCount])
        try profile.save(next, head: isKept ? nil : (verified.head, bytes), warnings: warnings)
    }

    private func refuse(_ bytes: [UInt8], _ error: FeedError) throws(ClientError) {
        switch error {
        // Truncated: too short for a head, such as the page of a captive portal.
        case .badSignature, .wrongFeed, .malformedHead, .malformedKeys, .truncated:
            try recordRefusal(.badFeed)
        case .rollback: try recordRefusal(.rollback)
        case .fork(let sequence):
            try profile.recordFork(at: sequence, other: bytes, "head")
        case .tooLarge, .corruptBatch: break
        }
    }

    private func recordRefusal(_ trouble: FeedHealth.Trouble) throws(ClientError) {
        var next = profile.record
        let warning = next.health.headRefused(trouble, now: environment.wallSeconds())
        try profile.save(next, warnings: warning.map { [$0] } ?? [])
    }

    func generation(onLate: () -> Void) async throws(ClientError) -> UInt64 {
        let secrets = secrets
        do {
            return try await app.call { try await secrets.generation() }.get()
        } catch {
            throw try unreadable()
        }
    }

    private typealias ReadSecrets = Result<(LocalSecretSet, unusable: Int), any Error>

    private static func read(
        _ secrets: any LocalSecrets, by app: AppCaller, _ end: ReadingEnd? = nil
    ) async -> ReadSecrets {
        await app.call {
            defer { end?.isReached.store(true, ordering: .releasing) }
            let (copied, unusable) = try await secrets.copied()
            return (LocalSecretSet(copied), unusable)
        }
    }

    /// - Returns: nil when they cannot be read; the user is warned.
    private func usable(_ read: ReadSecrets) throws(ClientError) -> LocalSecretSet? {
        guard case .success(let (secrets, unusable)) = read else {
            _ = try unreadable()
            return nil
        }
        try profile.warnOnce(.secrets, nil)
        try profile.warnOnce(
            .unusableSecrets, unusable > 0 ? .unusableSecrets(count: unusable) : nil)
        return secrets
    }

    private func unreadable() throws(ClientError) -> ClientError {
        try profile.warnOnce(.secrets, .secretsUnreadable)
        return .secrets
    }

    func recheck(onLate: () -> Void) async throws(ClientError) -> Recheck {
        guard let head = profile.accepted?.head, head.count > 0 else { return Recheck() }
        guard let secrets = try usable(await Self.read(secrets, by: app)) else { throw .secrets }
        let cursor = profile.record.cursor
        var (new, damaged) = (0, 0)
        var lost: [UInt64] = []
        guard !secrets.secrets.isEmpty else { return Recheck() }
        for sequence in head.firstSequence...head.sequence where profile.record.hasChecked(sequence)
        {
            guard !Task.isCancelled else { throw .cancelled }
            guard let name = head.batchName(for: sequence), let file = cache.open(name) else {
                lost.append(sequence)
                continue
            }
            var reader = BatchReader(kept: name, cursor: cursor, secrets: secrets)
            guard (try? reader.feed(file)) != nil, let found = try? reader.finish().matches else {
                cache.drop(name)
                lost.append(sequence)
                damaged += 1
                continue
            }
            if !found.isEmpty {
                let matches = found.map(Match.init)
                new += try profile.save(profile.record, matches: matches)
            }
            await Task.yield()
        }
        // Not fetched again: a request caused by a new secret would reveal it.
        if damaged > 0 { environment.log(.keptBatchesDamaged(damaged)) }
        return Recheck(
            new: new,
            warnings: lost.runs.map { .lostBatches(first: $0.lowerBound, last: $0.upperBound) })
    }

    var quota: DailyQuota? { try? meter?.stored() }

    func eraseCache() {
        cache.erase()
        gatewayKeys?.forget()
    }
}

/// Whether the secrets of a cycle have been read.
private final class ReadingEnd: Sendable {
    let isReached = Atomic(false)
}

extension LocalSecrets {
    /// All secrets, and the number of those whose length is not allowed.
    fileprivate func copied() async throws -> ([LocalSecret], unusable: Int) {
        var copied: [LocalSecret] = []
        var unusable = 0
        try await lend { id, bytes in
            if let secret = LocalSecret(id: id, bytes: bytes) {
                copied.append(secret)
            } else {
                unusable += 1
            }
        }
        return (copied, unusable)
    }
}
