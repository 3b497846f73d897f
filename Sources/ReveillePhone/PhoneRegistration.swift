public import Foundation
public import WakeBytes

/// The token that a push service issued for this app instance.
public struct PhonePushToken: Codable, Sendable, Equatable, Redacted {
    /// The push services that the service knows.
    public enum Service: String, Codable, Sendable, CaseIterable {
        /// Apple, production.
        case apns
        /// Apple, development builds.
        case apnsSandbox = "apns-sandbox"
        /// Google.
        case fcm
    }

    /// The push service that issued it.
    public let service: Service
    /// Hexadecimal for Apple, as it is for Google.
    let text: String

    /// A token of Apple's.
    /// - Parameters:
    ///   - deviceToken: as `didRegisterForRemoteNotificationsWithDeviceToken` has it.
    ///   - isSandbox: whether the build has the development entitlement.
    public static func apns(_ deviceToken: Data, isSandbox: Bool = false) -> PhonePushToken {
        let hex = deviceToken.reduce(into: "") { text, byte in
            text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return PhonePushToken(service: isSandbox ? .apnsSandbox : .apns, text: hex)
    }

    /// A registration token of Firebase, or an installation ID.
    public static func fcm(_ token: String) -> PhonePushToken {
        PhonePushToken(service: .fcm, text: token)
    }
}

/// The registration of one app instance at one service: a value that says what to send next, and
/// when; it sends nothing itself. The rules are those of Policy/PROTOCOL.md. It is saved after each
/// call that changes it, and before a request leaves: an instance token that was forgotten cannot
/// be deleted any more. One request at a time; one that was given up has ended before the next
/// begins.
package struct PhoneRegistration: Codable, Sendable, Equatable {
    /// A request to `/v1/registration`.
    package struct Request: Sendable, Equatable {
        /// `PUT` or `DELETE`.
        package let method: String
        /// The field `Authorization`.
        package let authorization: String
        /// JSON, `Content-Type: application/json`; nil with `DELETE`.
        package let body: Data?
        fileprivate let token: PhonePushToken?
        fileprivate var hasProof = false
    }

    /// What is to be done now.
    package enum Step: Sendable, Equatable {
        case send(Request)
        /// ``PhoneChallenge/solve(while:)``, then ``add(proof:for:)``.
        case solve(PhoneChallenge)
        /// Seconds since 1970.
        case wait(until: Double)
        /// Nothing is left to do.
        case rest
    }

    /// Days after which a registration is renewed, at random: no rhythm shows.
    package static let renewalDays = 1.0...(7.0 / 3)
    /// Seconds after which a service has erased by itself what was not renewed: 14 days.
    private static let longestLife = 14.0 * 86_400

    /// The service's URL, as the app configures it.
    package let service: URL
    /// 32 random bytes under which the service knows this instance; nil before the first request
    /// and after an erasure: none is used again.
    package private(set) var instanceToken: Data?
    private var desired: PhonePushToken?
    /// The service has acknowledged it.
    private var confirmed: PhonePushToken?
    /// When the erasure was first desired; nil when none is on its way.
    private var erasingSince: Double?
    /// The service refuses the present push token for good: a defect of the app, or a token of
    /// another form. Nothing is sent until there is another one.
    package private(set) var isRefused = false
    private var failures = 0
    private var nextTime = 0.0
    private var challenge: PhoneChallenge?
    private var proof: String?
    /// Of the last attempt.
    private var failure: PhoneError?

    package init(at service: URL) { self.service = service }

    /// The registration of an app that was removed, and of which this token alone is known.
    package init(erasing token: Data, at service: URL, now: Double) {
        self.service = service
        instanceToken = token
        unregister(now: now)
    }

    /// Whether the service has acknowledged the present push token.
    package var isRegistered: Bool { desired != nil && desired == confirmed && !isErasing }

    /// Whether nothing is registered, desired or on its way.
    package var isOver: Bool { desired == nil && instanceToken == nil }

    private var isErasing: Bool { erasingSince != nil }

    /// Registers a push token, at each start of the app and whenever the system issues another.
    package mutating func register(_ token: PhonePushToken, now: Double) {
        if token != desired {
            isRefused = false
            // A pause that the service asked for holds for every token.
            if failures == 0, token != confirmed { nextTime = now }
        }
        desired = token
    }

    /// Erases the registration; the service has forgotten it when ``isOver``.
    package mutating func unregister(now: Double) {
        desired = nil
        challenge = nil
        proof = nil
        failure = nil
        guard instanceToken != nil else { return }
        if !isErasing { (erasingSince, failures, nextTime) = (now, 0, now) }
    }

    /// Erases the registration, as the app is configured with another service.
    /// - Returns: the push token that was desired here.
    package mutating func leave(now: Double) -> PhonePushToken? {
        defer { unregister(now: now) }
        return desired
    }

    /// Whether the service has erased by itself what it may still have had.
    package func hasExpired(now: Double) -> Bool {
        erasingSince.map { now - $0 > Self.longestLife } ?? false
    }

    /// Parts with the instance token, which is kept elsewhere; that there is one stays known.
    package mutating func handOverToken() -> Data? {
        guard let token = instanceToken else { return nil }
        instanceToken = Data()
        return token
    }

    /// Takes the instance token back; nil when it was lost: then nothing can be erased any more.
    package mutating func takeBack(_ token: Data?) {
        // One that was erased already may still be there.
        guard instanceToken != nil else { return }
        instanceToken = token
        if token == nil { (confirmed, erasingSince) = (nil, nil) }
    }

    /// What to do at this time, in seconds since 1970.
    /// - Parameter mayRegister: false while the publisher has switched registrations off.
    package mutating func next(now: Double, mayRegister: Bool = true) -> Step {
        guard isErasing || desired != nil && !isRefused && mayRegister else { return .rest }
        // A clock that was set back must not stop renewals.
        nextTime = min(nextTime, now + Self.renewalDays.upperBound * 86_400)
        guard now >= nextTime else { return .wait(until: nextTime) }
        if let challenge, proof == nil {
            if challenge.isOpen(at: now) { return .solve(challenge) }
            self.challenge = nil
        }
        let token = instanceToken ?? Self.newToken()
        instanceToken = token
        let authorization = "Bearer " + token.base64URL
        guard !isErasing, let desired else {
            return .send(
                Request(method: "DELETE", authorization: authorization, body: nil, token: nil))
        }
        return .send(
            Request(
                method: "PUT", authorization: authorization, body: body(of: desired),
                token: desired, hasProof: proof != nil))
    }

    /// Continues with a solved challenge; nil: none was found in time.
    package mutating func add(proof: String?, for challenge: PhoneChallenge) {
        guard challenge == self.challenge else { return }
        self.proof = proof
        if proof == nil { self.challenge = nil }
    }

    /// - Parameters:
    ///   - retryAfter: the field `Retry-After`.
    ///   - body: of an answer with another status than 204.
    package mutating func received(
        _ status: Int, to request: Request, retryAfter: String? = nil, body: Data = Data(),
        now: Double
    ) {
        guard status != 204 else { return succeed(request, now) }
        proof = nil
        challenge = nil
        failure = status == 422 ? .notServed : .httpStatus(status)
        // RFC 9110 §10.2.3: digits. A number of Swift's could be "nan".
        let asked = retryAfter.flatMap { UInt32($0) }.map { min(Double($0), 86_400) } ?? 0
        switch (status, request.method) {
        case (429, "PUT"):
            if !isErasing, let instanceToken {
                challenge = PhoneChallenge(problem: body, token: instanceToken, now: now)
            }
            // A proof that was not enough: many come, and not at once again.
            if challenge == nil || request.hasProof {
                pause(now, atLeast: challenge == nil ? asked : 0)
            }
        // Only the operator can change that.
        case (422, "PUT"): pause(now, atLeast: 6 * 3600)
        // Not of the form that this service takes: a defect of this app, or of the token.
        case (400, "PUT"), (401, "PUT"), (413, "PUT"): isRefused = desired == request.token
        default: pause(now, atLeast: asked)
        }
    }

    /// The request got no answer. The service may have done it: it will be sent again.
    package mutating func failed(_ error: PhoneError = .network, now: Double) {
        failure = error
        pause(now, atLeast: 0)
    }

    private mutating func succeed(_ request: Request, _ now: Double) {
        (challenge, proof, failure, failures, nextTime) = (nil, nil, nil, 0, now)
        if request.method == "DELETE" {
            (instanceToken, confirmed, erasingSince) = (nil, nil, nil)
        } else if !isErasing {
            confirmed = request.token
            if desired == confirmed { nextTime = now + .random(in: Self.renewalDays) * 86_400 }
        }
    }

    /// 30 s and twice as long each time, 6 hours at most, and half of it at random.
    private mutating func pause(_ now: Double, atLeast asked: Double) {
        let longest = min(30 * pow(2, Double(failures)), 6 * 3600)
        failures = min(failures + 1, 16)
        nextTime = now + asked + .random(in: longest / 2...longest)
    }

    /// Of one length, whatever is in it.
    private func body(of token: PhonePushToken) -> Data {
        var members = ["service": token.service.rawValue, "token": token.text]
        members["proof"] = proof
        let json = (try? JSONEncoder().encode(members)) ?? Data()
        return json + Data(repeating: UInt8(ascii: " "), count: max(0, 1024 - json.count))
    }

    private static func newToken() -> Data {
        // The system's generator is a cryptographic one on every platform of Swift.
        Data((0..<32).map { _ in UInt8.random(in: 0...255) })
    }

    /// The progress, as an app shows it.
    package func state(mayRegister: Bool) -> PhoneRegistrationState {
        guard desired != nil else { return isErasing ? .unregistering(failure: failure) : .none }
        if isRegistered { return .registered }
        if isRefused { return .refused }
        if challenge != nil, proof == nil { return .proving }
        return mayRegister || isErasing ? .registering(failure: failure) : .suspended
    }
}

extension Data {
    /// RFC 4648 §5, without padding.
    var base64URL: String {
        base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
