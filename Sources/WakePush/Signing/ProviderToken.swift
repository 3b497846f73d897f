package import WakeModel
package import WakeSystem

/// A credential that a push service accepts for a while. A value that takes the time.
package struct ProviderToken: Sendable, Equatable, Redacted {
    /// As it stands in `Authorization`, for APNs and FCM behind `bearer`.
    package let text: SecretBytes
    package let issued: ClockReading
    /// Seconds after which another is made, and after which this one is not used.
    package var refresh: Int
    package var end: Int

    /// Seconds by which the wall clock may differ from the one that the token was issued by.
    package static let drift = 5 * 60

    package init(text: SecretBytes, issued: ClockReading, refresh: Int, end: Int) {
        self.text = text
        self.issued = issued
        self.refresh = refresh
        self.end = end
    }

    /// Seconds; nil: unknown, or the clock that it was issued by was wrong, or the present one is.
    package func age(at now: ClockReading) -> Int? {
        guard let age = now.seconds(since: issued), age >= 0,
            abs(now.wall - issued.wall - age) <= Self.drift
        else { return nil }
        return age
    }

    func isUsable(at now: ClockReading) -> Bool { age(at: now).map { $0 < end } ?? false }
    func isDue(at now: ClockReading) -> Bool { age(at: now).map { $0 >= refresh } ?? true }
}

/// The token in use, and what the answers to pushes say about it.
package struct TokenInUse: Sendable {
    package private(set) var token: ProviderToken?
    /// Differs for every other token.
    package private(set) var serial = 0
    package private(set) var hasWorked = false
    /// Whether it was made because the one before was refused, and has not worked so far.
    package private(set) var isReplacement = false
    private var refusals = 0
    /// Uptime in seconds when it replaced another; nil for the first of this process.
    private var replacedAt: Int?

    /// Refusals in a row that are believed: single ones come from a front of the push service that
    /// is out of step with the others.
    package static let refusalLimit = 5
    /// Seconds after a change in which answers may be to the token before.
    package static let lateSeconds = 1 + Int(ConnectionLimits().answerMilliseconds / 1000)

    package init(_ token: ProviderToken? = nil) { self.token = token }

    package var isRefused: Bool { refusals >= Self.refusalLimit }

    /// The token, if it may be used.
    func usable(at now: ClockReading) -> ProviderToken? {
        token.flatMap { !isRefused && $0.isUsable(at: now) ? $0 : nil }
    }

    package mutating func use(_ token: ProviderToken, uptime: Int) {
        if self.token != nil { replacedAt = uptime }
        isReplacement = isRefused
        (self.token, hasWorked, refusals) = (token, false, 0)
        serial += 1
    }

    /// - Returns: whether the token is refused from now on.
    package mutating func learn(_ feedback: CredentialFeedback, uptime: Int) -> Bool {
        let isLate = replacedAt.map { uptime - $0 < Self.lateSeconds } ?? false
        guard token != nil, !isLate, !isRefused else { return false }
        if feedback.hasWorked { (hasWorked, isReplacement, refusals) = (true, false, 0) }
        refusals += feedback.expired
        return isRefused
    }

    /// Uses the token again, although it was refused: another would be no better.
    mutating func retry() { refusals = 0 }
}

/// What the answers of a batch say about the credential.
package struct CredentialFeedback: Equatable, Sendable {
    /// Whether a push was accepted.
    package private(set) var hasWorked = false
    /// Refusals since then: as expired, and as one of too many.
    package var expired = 0
    package var tooManyUpdates = 0

    package static let worked = CredentialFeedback(hasWorked: true)

    package init(hasWorked: Bool = false, expired: Int = 0, tooManyUpdates: Int = 0) {
        self.hasWorked = hasWorked
        self.expired = expired
        self.tooManyUpdates = tooManyUpdates
    }

    mutating func accept() { self = .worked }

    var isRefusal: Bool { expired > 0 || tooManyUpdates > 0 }
    var isEmpty: Bool { !hasWorked && !isRefusal }
}

/// The source of the credential that a push service asks for.
protocol TokenProvider: Sendable {
    /// The credential to send with now; quick. Asked once a second and after every refusal.
    /// - Parameter whenChanged: called once, from any thread, at the end of a wait.
    func credential(
        at now: ClockReading, whenChanged: @escaping @Sendable () -> Void
    ) throws(GatewayFailure) -> Credential

    /// Records the credential's feedback; throws when another would be no better.
    func learn(_ feedback: CredentialFeedback, at now: ClockReading) throws(GatewayFailure)
}

/// A value of `authorization`, or a pause.
package enum Credential: Sendable {
    /// `serial` differs for every other value.
    case value([UInt8], serial: Int)
    /// The reason is for the operator; nil: it is usual, or too short to tell.
    case wait(seconds: Int, Unavailability?)
}
