import WakeModel

/// What the service should hold about this client, and how far that has come: the durable side of
/// the reconciliation. Times are in seconds since 1970, because they must outlive the process.
struct RegistrationWish: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// One row with this push token.
        case registered(WakeModel.PushToken)
        /// No row.
        case absent
    }

    /// The same for every attempt until an erasure is acknowledged: a lost answer can then leave
    /// one row at most.
    let instanceToken: InstanceToken
    var kind: Kind
    /// Counts wishes, so that a late answer to an older one changes nothing.
    var revision: Int64
    /// The service acknowledged `kind`.
    var isAcknowledged = false
    /// Attempts in a row that failed.
    var failures = 0
    /// No attempt before this time: back-off, or the time of renewal once acknowledged.
    var notBefore: Int64 = 0
    /// Status of a refusal that no retry will change; 0 for none, or `askedToWait`.
    var refusedStatus = 0

    /// The service said when to come again: that holds across restarts.
    static let askedToWait = -1
}

/// The rules of reconciliation, as a pure value over the wish.
struct Reconciler: Sendable {
    /// What to do now.
    enum Step: Sendable, Equatable {
        case put
        case delete
        /// Nothing before this time.
        case wait(until: Int64)
        /// Nothing at all.
        case rest
    }

    /// How an attempt ended.
    enum Answer: Sendable, Equatable {
        /// 204, and nothing else.
        case acknowledged
        /// Anything that a later attempt may change. Seconds as the server asked.
        case failed(retryAfter: Int?)
        /// The service will refuse this request every time.
        case refused(status: Int)
    }

    /// Renewals come at random in this range: a third of the service's shortest generation at
    /// most, so that a service that forgot everything is healed early enough.
    static let renewal = 86_400.0..<201_600.0
    private static let ceiling: Int64 = 6 * 3600
    /// A program that was started again tries again within so many seconds, once: whoever starts a
    /// device wants to be registered, not to wait for what a broken line yesterday grew to. At
    /// random in that time, so that even a program that is started over and over asks, on average,
    /// no more often than once in it.
    static let restart = 300.0

    /// - Parameters:
    ///   - mayRegister: false while the publisher has switched registrations off.
    ///   - restart: when to try again at the latest, after a start; nil once that was done.
    static func step(
        _ wish: RegistrationWish?, now: Int64, mayRegister: Bool, restart: Int64? = nil
    ) -> Step {
        guard let wish else { return .rest }
        let latest = shortensWait(of: wish) ? restart : nil
        let time = min(due(wish, now: now), latest ?? .max)
        switch wish.kind {
        case .registered where !mayRegister: return .rest
        case .registered: return now >= time ? .put : .wait(until: time)
        case .absent: return now >= time ? .delete : .wait(until: time)
        }
    }

    /// Whether the wait is for a broken line and may be cut. What the server asked for is kept to,
    /// and what it refuses no restart will change.
    static func shortensWait(of wish: RegistrationWish) -> Bool {
        !wish.isAcknowledged && wish.refusedStatus == 0
    }

    /// `notBefore`, unless it is further away than any wait can be: then the clock was set back,
    /// and waiting on would be for as long as it was set back.
    private static func due(_ wish: RegistrationWish, now: Int64) -> Int64 {
        let bound = wish.isAcknowledged ? Int64(renewal.upperBound) : ceiling
        // A minute more: fractions of seconds are rounded up where waits are drawn.
        return wish.notBefore > now + bound + 60 ? now : wish.notBefore
    }

    /// The wish after an answer; nil when an erasure was acknowledged and everything is to be
    /// wiped.
    /// - Parameter random: in [0, 1).
    static func apply(
        _ answer: Answer, to wish: RegistrationWish, now: Int64, random: Double
    ) -> RegistrationWish? {
        var wish = wish
        switch answer {
        case .acknowledged:
            if wish.kind == .absent { return nil }
            wish.isAcknowledged = true
            wish.failures = 0
            wish.refusedStatus = 0
            let span = renewal.upperBound - renewal.lowerBound
            wish.notBefore = now + Int64(renewal.lowerBound + span * random)
        case .failed(let retryAfter):
            wish.failures += 1
            if retryAfter ?? 0 > 0 {
                wish.refusedStatus = RegistrationWish.askedToWait
            } else if wish.refusedStatus == RegistrationWish.askedToWait {
                wish.refusedStatus = 0
            }
            let delay = Backoff.registration.delay(
                failures: wish.failures, random: random,
                floor: .seconds(Int64(retryAfter ?? 0)))
            // `now` has lost its fraction of a second: never sooner than asked.
            wish.notBefore = now + delay.wholeSeconds + 1
        case .refused(let status):
            // Nobody but an update of the app or of the service can mend this: asked again, but
            // seldom.
            wish.failures += 1
            wish.refusedStatus = status
            wish.notBefore = now + Int64(Double(ceiling) * (0.5 + random / 2))
        }
        return wish
    }

    /// What an HTTP status means. Only 204 is success: a captive portal answers 200 to anything.
    static func answer(status: Int, retryAfter: Int?) -> Answer {
        switch status {
        case 204: .acknowledged
        case 400, 401, 403, 404, 405, 410, 413, 415, 422: .refused(status: status)
        default: .failed(retryAfter: retryAfter)
        }
    }
}
