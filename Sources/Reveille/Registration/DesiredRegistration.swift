import WakeModel
import WakeSystem

/// The registration that the service should hold, and its progress. Times: seconds since 1970.
struct DesiredRegistration: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// One row with this push token.
        case registered(PushToken)
        /// No row.
        case absent
    }

    /// The same until an erasure is acknowledged: a lost answer can then leave one row at most.
    let instanceToken: InstanceToken
    /// The service that the instance token is for, and no other: the URL of its registrations.
    var address: [UInt8] = []
    var kind: Kind
    /// Counts changes of `kind`, so that a late answer to an older one changes nothing.
    var revision: Int64
    /// The service acknowledged `kind`.
    var isAcknowledged = false
    var failures = 0
    /// No attempt before this time: back-off, or the time of renewal once acknowledged.
    var notBefore: Int64 = 0
    /// Status of a refusal that no retry will change; 0 for none, `askedToWait` or `solving`.
    var refusedStatus = 0
    /// Of the last attempt.
    var failure: ClientError?

    /// The service said when to come again: that holds across restarts.
    static let askedToWait = -1
    /// The service asked for a proof of work, and it is computed.
    private static let solving = -2
    var isSolvingChallenge: Bool { refusedStatus == Self.solving }

    /// The same while the proof is computed that the service's challenge asks for.
    var solvingChallenge: DesiredRegistration {
        var solving = self
        solving.refusedStatus = Self.solving
        return solving
    }

    var token: AppPushToken? {
        if case .registered(let token) = kind { AppPushToken(token) } else { nil }
    }
}

/// The rules of reconciliation, as pure functions.
enum Reconciler {
    enum Step: Sendable, Equatable {
        case put, delete, rest
        case wait(until: Int64)
    }

    /// The end of an attempt.
    enum Answer: Sendable, Equatable {
        case acknowledged
        /// A later attempt may succeed. Seconds as the server asked.
        case failed(retryAfter: Int?)
        /// The service will refuse this request every time.
        case refused(status: Int)
    }

    /// Seconds to a renewal, at random: a third of the service's shortest generation at most.
    static let renewal = 86_400.0..<201_600.0
    private static let ceiling: Int64 = 6 * 3600
    /// A restarted program tries again at random within this many seconds, once, whatever the wait.
    static let restart = 300.0

    /// The step that is due. `mayRegister` is false while the publisher has switched registrations
    /// off; `restart` is the latest time of the first attempt after a start, nil once it was made.
    static func step(
        _ desired: DesiredRegistration?, now: Int64, mayRegister: Bool, restart: Int64? = nil
    ) -> Step {
        guard let desired else { return .rest }
        let latest = shortensWait(of: desired) ? restart : nil
        let time = min(due(desired, now: now), latest ?? .max)
        switch desired.kind {
        case .registered where !mayRegister: return .rest
        case .registered: return now >= time ? .put : .wait(until: time)
        case .absent: return now >= time ? .delete : .wait(until: time)
        }
    }

    /// True when the wait may be cut: not one that the server asked for, nor one after a refusal.
    static func shortensWait(of desired: DesiredRegistration) -> Bool {
        !desired.isAcknowledged && desired.refusedStatus == 0
    }

    /// `notBefore`, unless it is further away than any wait can be: then the clock was set back.
    private static func due(_ desired: DesiredRegistration, now: Int64) -> Int64 {
        let bound = desired.isAcknowledged ? Int64(renewal.upperBound) : ceiling
        // A minute more: fractions of seconds are rounded up where waits are drawn.
        return desired.notBefore > now + bound + 60 ? now : desired.notBefore
    }

    /// The registration after an answer; nil wipes all, after an erasure. `random` is in [0, 1).
    static func apply(
        _ answer: Answer, to desired: DesiredRegistration, now: Int64, random: Double
    ) -> DesiredRegistration? {
        var desired = desired
        switch answer {
        case .acknowledged:
            if desired.kind == .absent { return nil }
            desired.isAcknowledged = true
            desired.failures = 0
            desired.refusedStatus = 0
            let span = renewal.upperBound - renewal.lowerBound
            desired.notBefore = now + Int64(renewal.lowerBound + span * random)
        case .failed(let retryAfter):
            desired.failures += 1
            if retryAfter ?? 0 > 0 {
                desired.refusedStatus = DesiredRegistration.askedToWait
            } else if desired.refusedStatus < 0 {
                desired.refusedStatus = 0
            }
            let delay = Backoff.registration.delay(
                failures: desired.failures, random: random,
                floor: .seconds(Int64(retryAfter ?? 0)))
            // `now` has lost its fraction of a second: never sooner than asked.
            desired.notBefore = now + delay.wholeSeconds + 1
        case .refused(let status):
            // Only an update of the app or of the service can change this: asked again, but seldom.
            desired.failures += 1
            desired.refusedStatus = status
            desired.notBefore = now + Int64(Double(ceiling) * (0.5 + random / 2))
        }
        return desired
    }

    /// The meaning of an HTTP status. Only 204 is success: a captive portal answers 200 to all.
    static func answer(status: Int, retryAfter: Int?) -> Answer {
        switch status {
        case 204: .acknowledged
        case 400, 401, 403, 404, 405, 410, 413, 415, 422: .refused(status: status)
        default: .failed(retryAfter: retryAfter)
        }
    }
}

extension RegistrationState {
    /// - Parameter address: of the configured service.
    init(
        _ desired: DesiredRegistration?, at address: [UInt8]?, formerServices: Int,
        mayRegister: Bool
    ) {
        guard let desired else {
            self = formerServices == 0 ? .none : .unregistering(failure: nil)
            return
        }
        let failure = desired.failure
        self =
            switch desired.kind {
            case .absent: .unregistering(failure: failure)
            case .registered where desired.isAcknowledged && desired.address == address: .registered
            case .registered where desired.isSolvingChallenge: .proving
            case .registered: mayRegister ? .registering(failure: failure) : .suspended
            }
    }
}
