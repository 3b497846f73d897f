import Foundation
import WakeFeed

/// All that a client remembers, as one value in one file: what a batch brings and the cursor after
/// it are saved by one write. Times are seconds since 1970.
struct PhoneState: Codable, Sendable, Equatable {
    static let currentVersion = 1
    /// Seconds for which a gap, or a state that was lost, is shown.
    private static let memory: Int64 = FeedLimits.retainedSeconds
    private static let day: Int64 = 86_400

    private struct Gap: Codable, Sendable, Equatable {
        let first: UInt64
        let last: UInt64
        let time: Int64
    }

    /// Heads that are refused.
    private struct Trouble: Codable, Sendable, Equatable {
        let isRollback: Bool
        let since: Int64
    }

    let version: Int
    private var feed: PhoneFeed
    private var found = MatchRecord()
    private var registrations: [PhoneRegistration] = []

    /// The first start, before the first check.
    private var started: Int64
    private var verified: Int64?
    private var checked: Int64?
    /// The first cycle since the last complete check.
    private var attempted: Int64?
    /// When the head whose settings are in force was first seen.
    private var directivesSeen: Int64 = 0
    private var trouble: Trouble?
    private var gaps: [Gap] = []
    private var lostState: Int64?
    /// Of the newest head, and of the last cycle's secrets.
    private var conditions: [PhoneWarning] = []
    private var secretsFault: PhoneWarning?
    private var failure: PhoneError?

    /// - Parameter isReset: whether a state that was there could not be read.
    init(key: FeedKey, isReset: Bool = false, now: Int64) {
        version = Self.currentVersion
        feed = PhoneFeed(key: key)
        started = now
        lostState = isReset ? now : nil
    }

    /// Continues under the present configuration: a registration at another service is erased
    /// there, and made again at this one.
    mutating func configure(key: FeedKey, service: URL?, now: Double) {
        if !feed.mayContinue(with: key) { feed = PhoneFeed(key: key) }
        registrations.removeAll { $0.service != service && ($0.isOver || $0.hasExpired(now: now)) }
        guard let service else { return }
        var desired: PhonePushToken?
        for index in registrations.indices where registrations[index].service != service {
            desired = registrations[index].leave(now: now) ?? desired
        }
        if !registrations.contains(where: { $0.service == service }) {
            registrations.append(PhoneRegistration(at: service))
        }
        if let desired { registration(at: service) { $0.register(desired, now: now) } }
    }

    // MARK: Feed

    var plan: [VerifiedHead.PlannedBatch] { feed.plan { .random(in: 0..<1) } }
    var headBytes: [UInt8]? { feed.headBytes }
    var isForked: Bool { feed.forkedAt != nil }
    var isRetired: Bool { flags.contains(.retired) }
    private var flags: FeedFlags {
        feed.cursor.newestIssued == nil ? [] : feed.cursor.settings.flags
    }
    /// Of the newest head; nil before the first.
    var settings: FeedSettings? {
        feed.cursor.newestIssued == nil ? nil : feed.cursor.settings
    }

    func needsKeys(for file: [UInt8], key: FeedKey) -> Bool { feed.needsKeys(for: file, key: key) }

    mutating func checkBegan(now: Int64) { attempted = min(attempted ?? now, now) }

    mutating func checkEnded(_ failure: PhoneError?) { self.failure = failure }

    /// Records the length of the secrets, or that they could not be read.
    mutating func note(secrets fault: PhoneWarning?) { secretsFault = fault }

    /// Takes a file `head`, or records its refusal.
    /// - Parameters:
    ///   - keys: the file `keys`; nil when it was not asked for, an error when it did not come.
    ///   - serverTime: by the server's clock, which is not signed.
    /// - Returns: the refusal.
    mutating func take(
        head file: [UInt8], keys: Result<[UInt8], PhoneError>?, _ trust: PhoneConfiguration.Trust,
        now: Int64, serverTime: Int64?
    ) -> PhoneError? {
        let issued = feed.cursor.newestIssued
        let accepted: PhoneFeed.Acceptance
        do throws(PhoneFeed.Refusal) {
            accepted = try feed.accept(
                file, keys: try? keys?.get(), key: trust.key, under: trust.policy, now: now)
        } catch {
            // Without the keys it says nothing that a head does not verify.
            if error == .head(.badSignature), case .failure(let failure) = keys { return failure }
            return refuse(error, now)
        }
        if feed.cursor.newestIssued != issued { directivesSeen = now }
        (verified, trouble, conditions) = (now, nil, [])
        for warning in accepted.warnings {
            switch warning {
            case .gap(let missing): add(gap: missing, now)
            case .stale:
                // The server's clock is not signed; a false warning of a clock does no harm.
                let ahead = serverTime.map { $0 - now } ?? 0
                let isClock =
                    abs(ahead) > FeedLimits.clockToleranceSeconds
                    && feed.head?.isInForce(at: now + ahead) == true
                conditions.append(isClock ? .clockSkew(seconds: ahead) : .stale)
            case .clockSkew(let issued): conditions.append(.clockSkew(seconds: issued - now))
            }
        }
        for sequence in accepted.lost { add(gap: sequence...sequence, now) }
        gaps.removeAll { now - $0.time > Self.memory }
        if accepted.isProofStale { conditions.append(.staleCosignature) }
        found.dropDelivered(
            before: feed.head?.firstSequence ?? 0, deliveredBefore: now - Self.memory)
        completeIfDone(now)
        return nil
    }

    /// An answer to the request for a head that is none, such as a captive portal's.
    mutating func takePortal(now: Int64) { setTrouble(isRollback: false, now) }

    private mutating func refuse(_ refusal: PhoneFeed.Refusal, _ now: Int64) -> PhoneError {
        switch refusal {
        case .proof(let fault):
            conditions.removeAll { $0 == .noQuorum || $0 == .otherHistory }
            if fault == .noQuorum { conditions.append(.noQuorum) }
            if fault == .otherHistory { conditions.append(.otherHistory) }
            return .unwitnessed(.init(fault))
        case .head(let error):
            switch error {
            case .badSignature, .wrongFeed, .malformedHead, .malformedKeys, .truncated:
                setTrouble(isRollback: false, now)
            case .rollback: setTrouble(isRollback: true, now)
            case .fork, .tooLarge, .corruptBatch: break
            }
            return PhoneError(error)
        }
    }

    /// A change of its kind does not restart the day; a clock that was set back does.
    private mutating func setTrouble(isRollback: Bool, _ now: Int64) {
        trouble = Trouble(isRollback: isRollback, since: min(trouble?.since ?? now, now))
    }

    private mutating func add(gap: ClosedRange<UInt64>, _ now: Int64) {
        if let last = gaps.last, last.last + 1 == gap.lowerBound {
            gaps[gaps.count - 1] = Gap(first: last.first, last: gap.upperBound, time: now)
        } else {
            gaps.append(Gap(first: gap.lowerBound, last: gap.upperBound, time: now))
        }
    }

    /// Takes a batch with its matches.
    /// - Returns: the number of new matches, or the refusal.
    mutating func take(
        batch sequence: UInt64, _ bytes: [UInt8], against secrets: LocalSecretSet, now: Int64
    ) -> Result<Int, PhoneError> {
        // Another process may have checked it.
        guard feed.unchecked.contains(sequence) else { return .success(0) }
        do throws(FeedError) {
            let new = found.add(try feed.check(sequence, bytes, against: secrets))
            completeIfDone(now)
            return .success(new)
        } catch { return .failure(PhoneError(error)) }
    }

    private mutating func completeIfDone(_ now: Int64) {
        if feed.unchecked.isEmpty { (checked, attempted) = (now, nil) }
    }

    /// Begins the feed again; registration and matches stay.
    mutating func startOver(now: Int64) {
        feed = feed.restarted()
        (started, verified, checked, attempted) = (now, nil, nil, nil)
        (trouble, gaps, conditions, failure) = (nil, [], [], nil)
    }

    // MARK: Matches

    var matches: [PhoneMatch] { found.waiting }

    mutating func acknowledge(_ id: String, now: Int64) { found.acknowledge(id, now: now) }

    // MARK: Registration

    /// What is to be done at a service.
    enum Duty: Sendable {
        case send(PhoneRegistration.Request, at: URL)
        case solve(PhoneChallenge, at: URL)
        /// Seconds since 1970; nil when nothing is left to do.
        case rest(until: Double?)
    }

    private var mayRegister: Bool { flags.isDisjoint(with: [.noRegistration, .retired]) }

    /// - Parameter renews: false leaves out what the service has acknowledged already.
    mutating func nextDuty(renews: Bool, now: Double) -> Duty {
        if isRetired { unregister(now: now) }
        var next: Double?
        for index in registrations.indices where renews || !registrations[index].isRegistered {
            let service = registrations[index].service
            switch registrations[index].next(now: now, mayRegister: mayRegister) {
            case .send(let request): return .send(request, at: service)
            case .solve(let challenge): return .solve(challenge, at: service)
            case .wait(let time): next = min(next ?? time, time)
            case .rest: break
            }
        }
        return .rest(until: next)
    }

    /// Changes the registration at a service.
    mutating func registration(
        at service: URL, _ change: (inout PhoneRegistration) -> Void
    ) {
        guard let index = registrations.firstIndex(where: { $0.service == service }) else { return }
        change(&registrations[index])
    }

    mutating func unregister(now: Double) {
        for index in registrations.indices { registrations[index].unregister(now: now) }
    }

    /// Parts with the instance tokens, which are kept elsewhere, by the service's URL.
    mutating func handOverTokens() -> [String: Data] {
        var tokens: [String: Data] = [:]
        for index in registrations.indices {
            let service = registrations[index].service.absoluteString
            tokens[service] = registrations[index].handOverToken()
        }
        return tokens
    }

    /// Takes the instance tokens back. Where nothing else is known of one, as after a
    /// reinstallation, its registration is erased first.
    mutating func takeBack(_ tokens: [String: Data], isNew: Bool, now: Double) {
        for index in registrations.indices {
            registrations[index].takeBack(tokens[registrations[index].service.absoluteString])
        }
        guard isNew else { return }
        for (text, token) in tokens {
            guard let service = URL(string: text) else { continue }
            registrations.append(PhoneRegistration(erasing: token, at: service, now: now))
        }
    }

    func registrationState(at service: URL?) -> PhoneRegistrationState {
        let current = registrations.first { $0.service == service }
        let state = current?.state(mayRegister: mayRegister) ?? .none
        return state == .none && formerServices(beside: service) > 0
            ? .unregistering(failure: nil) : state
    }

    private func formerServices(beside service: URL?) -> Int {
        registrations.count { $0.service != service && !$0.isOver }
    }

    // MARK: Status

    /// When wakes are heeded again; nil without a pause. Counted by this device's clock from when
    /// the directive was first seen, so that a wrong clock cannot stretch it.
    func pausedUntil(now: Int64) -> Int64? {
        guard flags.contains(.paused), now >= directivesSeen else { return nil }
        let seconds = min(Int64(feed.cursor.settings.pauseSeconds), FeedLimits.longestPause)
        return now < directivesSeen + seconds ? directivesSeen + seconds : nil
    }

    func status(at service: URL?, now: Int64) -> PhoneStatus {
        let date = { (time: Int64?) in time.map { Date(timeIntervalSince1970: Double($0)) } }
        return PhoneStatus(
            registration: registrationState(at: service),
            formerServices: formerServices(beside: service), sequence: feed.cursor.sequence,
            lastVerified: date(verified), lastChecked: date(checked), unchecked: feed.unchecked,
            fingerprint: feed.head.map { FeedFingerprint($0).text },
            matchesToDeliver: matches.count, pausedUntil: date(pausedUntil(now: now)),
            isRetired: isRetired, isForked: isForked,
            minimumClientVersion: Int(settings?.minimumClientVersion ?? 0), failure: failure,
            warnings: warnings(at: service, now: now))
    }

    private func warnings(at service: URL?, now: Int64) -> [PhoneWarning] {
        var warnings = conditions
        if let sequence = feed.forkedAt { warnings.append(.fork(sequence: sequence)) }
        warnings += gaps.map { .gap(first: $0.first, last: $0.last) }
        if let trouble, now - trouble.since >= Self.day {
            warnings.append(trouble.isRollback ? .rollback : .badFeed)
        }
        if let silence = silence(now: now) { warnings.append(silence) }
        if let secretsFault { warnings.append(secretsFault) }
        if let lostState, now - lostState < Self.memory { warnings.append(.stateReset) }
        if isRetired { warnings.append(.retired) }
        if registrationState(at: service) == .refused { warnings.append(.registrationRefused) }
        return warnings
    }

    /// Counted from the last check of everything that a head named, and never from the last head:
    /// a host that withholds a batch can serve fresh heads. A device that was off has not tried.
    private func silence(now: Int64) -> PhoneWarning? {
        guard let attempted, now - attempted >= 6 * 3600 else { return nil }
        let days = { (start: Int64) in (now - start) / Self.day }
        guard days(checked ?? started) >= 2 else { return nil }
        let quiet = days(verified ?? started)
        if quiet >= 2 { return .silence(days: Int(quiet)) }
        guard let first = feed.unchecked.first, let last = feed.unchecked.last else { return nil }
        return .notChecked(first: first, last: last)
    }
}

extension PhoneError {
    init(_ error: FeedError) {
        switch error {
        case .truncated: self = .truncated
        case .tooLarge: self = .tooLarge
        case .badSignature: self = .badSignature
        case .wrongFeed: self = .wrongFeed
        case .rollback: self = .rollback
        case .fork: self = .fork
        case .malformedHead, .malformedKeys: self = .protocolViolation
        case .corruptBatch: self = .corruptBatch
        }
    }
}

extension PhoneError.ProofFault {
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
