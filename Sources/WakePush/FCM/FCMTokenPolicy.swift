private import WakeModel

/// When an access token is used, exchanged for a new one, or waited for: a value that takes the
/// time, in seconds of uptime. Whoever keeps it makes the exchanges, one at a time.
package struct FCMTokenPolicy: Sendable {
    /// What to send with now.
    package enum Use: Sendable, Equatable {
        /// The token that was obtained last.
        case token
        /// Nothing may be sent for so many seconds; then ask again.
        case wait(seconds: Int)
        case failure(GatewayFailure)
    }

    package struct Decision: Sendable, Equatable {
        package let use: Use
        /// An exchange is to begin now; it counts as under way from here on.
        package let beginsExchange: Bool
    }

    /// Seconds before its end at which a token is replaced.
    package static let early = 5 * 60
    /// Seconds before its end from which it is not used: for what is in flight.
    package static let margin = 30
    /// Seconds between two exchanges that were in order.
    package static let shortest = 10
    /// Seconds after a refusal, of the exchange or of its token, before another exchange.
    package static let holdoff = 60
    /// Seconds after the first exchange that failed, doubled by each, and at most.
    package static let first = 1
    package static let longest = 60
    /// Seconds without any token until the gateway is given up for the round.
    package static let patience = 5 * 60

    private struct Grant {
        let obtained: Int
        let refresh: Int
        let end: Int
        /// A wake-up that was sent with it was accepted.
        var hasWorked = false
        /// The push service has called it unauthorised.
        var isRefused = false
    }

    private var grant: Grant?
    /// An exchange is under way.
    private(set) var isExchanging = false
    private var failures = 0
    private var failingSince: Int?
    /// No exchange begins before.
    private var notBefore = Int.min
    /// Why the last exchange was refused.
    private var fault: FCMFault?

    package init() {}

    /// - Parameter now: seconds of uptime.
    package mutating func decide(_ now: Int) -> Decision {
        if let grant, !grant.isRefused, now < grant.end {
            return Decision(use: .token, beginsExchange: now >= grant.refresh && begin(now))
        }
        if isExchanging { return Decision(use: .wait(seconds: 1), beginsExchange: false) }
        // Failures of an earlier round say nothing about this one.
        if failures > 0, now - notBefore > 2 * Self.longest {
            failures = 0
            failingSince = nil
        }
        if let fault, now < notBefore {
            return Decision(use: .failure(.misconfigured(.fcm(fault))), beginsExchange: false)
        }
        if let since = failingSince, now - since >= Self.patience {
            // The next round has patience of its own.
            failingSince = nil
            return Decision(
                use: .failure(.unavailable(.noAccessToken, .fcm)), beginsExchange: false)
        }
        let begins = begin(now)
        return Decision(
            use: .wait(seconds: begins ? 1 : max(1, notBefore - now)), beginsExchange: begins)
    }

    private mutating func begin(_ now: Int) -> Bool {
        guard !isExchanging, now >= notBefore else { return false }
        isExchanging = true
        fault = nil
        return true
    }

    /// The exchange brought a token.
    /// - Parameters:
    ///   - asked: when the exchange began.
    ///   - lifetime: seconds it is good for, counted from then to be sure.
    package mutating func obtained(asked: Int, lifetime: Int, now: Int) {
        let refresh = max(asked + lifetime - Self.early, asked + lifetime / 2)
        grant = Grant(obtained: now, refresh: refresh, end: asked + lifetime - Self.margin)
        isExchanging = false
        failures = 0
        failingSince = nil
        notBefore = now + Self.shortest
    }

    /// The exchange was refused in a way that will not pass by itself.
    package mutating func refused(_ fault: FCMFault, now: Int) {
        isExchanging = false
        self.fault = fault
        failures = 0
        failingSince = nil
        notBefore = now + Self.holdoff
    }

    /// The exchange failed in a way that may pass.
    /// - Parameters:
    ///   - retryAfter: seconds the far end asked to wait, 0 when it did not.
    ///   - chance: from 0 to 1, stretches the wait by up to a half.
    package mutating func failed(retryAfter: Int, now: Int, chance: Double) {
        isExchanging = false
        if failingSince == nil { failingSince = now }
        let wait = min(Self.longest, Self.first << min(failures, 16))
        failures += 1
        notBefore = now + max(wait + Int(Double(wait) * chance / 2), retryAfter)
    }

    /// A wake-up that was sent with the token in use was accepted.
    package mutating func worked() { grant?.hasWorked = true }

    /// 401 for a wake-up that was sent with the token in use.
    /// - Throws: when the token has never worked: another would not help.
    package mutating func unauthorised(now: Int) throws(GatewayFailure) {
        guard let grant, !grant.isRefused else { return }
        guard grant.hasWorked else {
            self.grant = nil
            notBefore = max(notBefore, now + Self.shortest)
            throw .misconfigured(.fcm(.tokenRefused))
        }
        self.grant?.isRefused = true
        notBefore = max(notBefore, grant.obtained + Self.holdoff)
    }
}
