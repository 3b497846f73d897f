import Foundation

/// The registration of one app instance at a Reveille service, for an app on a phone. It is a value
/// that says what to send next, and when; it sends nothing itself. Copy this file: it needs
/// Foundation alone. The rules are those of Policy/PROTOCOL.md; Deploy/PHONES.md shows the use.
///
/// Keep it where only this app on this device reads it and no backup takes it: in the Keychain with
/// `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`. Save it after each call that changes it, and
/// before a request leaves: a token that was forgotten cannot be deleted any more. One request at a
/// time; a request that was given up has ended before the next begins.
public struct Registration: Codable, Sendable, Equatable {
    /// What the push service issued.
    public enum PushToken: Codable, Sendable, Equatable {
        /// The device token as `didRegisterForRemoteNotificationsWithDeviceToken` has it; sandbox
        /// for builds with the development entitlement.
        case apns(Data, isSandbox: Bool = false)
        /// A registration token or a Firebase installation ID.
        case fcm(String)
    }

    /// A request to `/v1/registration`, without cookies, cache and redirects.
    public struct Request: Sendable, Equatable {
        /// `PUT` or `DELETE`.
        public let method: String
        /// The field `Authorization`.
        public let authorization: String
        /// JSON, `Content-Type: application/json`; nil with `DELETE`.
        public let body: Data?
        fileprivate let token: PushToken?
        fileprivate var hasProof = false
    }

    /// What is to be done now.
    public enum Step: Sendable, Equatable {
        case send(Request)
        /// Off the main thread: ``Challenge/solve(while:)``, then ``Registration/add(proof:for:)``.
        case solve(Challenge)
        /// Ask again then, or at the next start of the app. Seconds since 1970.
        case wait(until: Double)
        /// Nothing is left to do.
        case rest
    }

    /// Days after which a registration is renewed, at random: nobody learns a rhythm.
    public static let renewalDays = 1.0...(7.0 / 3)

    /// 32 random bytes under which the service knows this instance; nil before the first request
    /// and after a deletion: none is used again.
    private var instanceToken: Data?
    private var wish: PushToken?
    /// What the service said 204 to.
    private var confirmed: PushToken?
    private var isErasing = false
    /// Whether the service refuses the present push token for good: a defect of the app, or a token
    /// of another form. Nothing is sent until there is another one.
    public private(set) var isRefused = false
    private var failures = 0
    private var nextTime = 0.0
    private var challenge: Challenge?
    private var proof: String?

    /// For an app that has not been started before.
    public init() {}

    /// Whether the service has said that it holds the present push token.
    public var isRegistered: Bool { wish != nil && wish == confirmed && !isErasing }

    /// Registers a push token, at each start of the app and whenever the system issues another.
    public mutating func register(_ token: PushToken, now: Double) {
        if token != wish {
            isRefused = false
            // A pause that the service asked for holds for every token.
            if failures == 0, token != confirmed { nextTime = now }
        }
        wish = token
    }

    /// Deletes the registration; the service has forgotten it when ``next(now:)`` says `rest`.
    public mutating func erase(now: Double) {
        wish = nil
        challenge = nil
        proof = nil
        isErasing = instanceToken != nil
        if isErasing { (failures, nextTime) = (0, now) }
    }

    /// What to do at this time, in seconds since 1970.
    public mutating func next(now: Double) -> Step {
        guard isErasing || wish != nil && !isRefused else { return .rest }
        // A clock that was set back must not stop renewals.
        nextTime = min(nextTime, now + Self.renewalDays.upperBound * 86_400)
        guard now >= nextTime else { return .wait(until: nextTime) }
        if let challenge, proof == nil {
            if now < challenge.expires, now + 3600 >= challenge.expires { return .solve(challenge) }
            self.challenge = nil
        }
        let token = instanceToken ?? Self.randomToken()
        instanceToken = token
        let authorization = "Bearer " + base64URL(token)
        guard !isErasing, let wish else {
            return .send(
                Request(method: "DELETE", authorization: authorization, body: nil, token: nil))
        }
        return .send(
            Request(
                method: "PUT", authorization: authorization, body: body(of: wish), token: wish,
                hasProof: proof != nil))
    }

    /// Continues with a solved challenge; nil: none was found in time.
    public mutating func add(proof: String?, for challenge: Challenge) {
        guard challenge == self.challenge else { return }
        self.proof = proof
        if proof == nil { self.challenge = nil }
    }

    /// - Parameters:
    ///   - retryAfter: the field `Retry-After`.
    ///   - body: of an answer with another status than 204.
    public mutating func received(
        _ status: Int, to request: Request, retryAfter: String? = nil, body: Data = Data(),
        now: Double
    ) {
        guard status != 204 else { return succeed(request, now) }
        proof = nil
        challenge = nil
        // RFC 9110 §10.2.3: digits. A number of Swift's could be "nan".
        let asked = retryAfter.flatMap { UInt32($0) }.map { min(Double($0), 86_400) } ?? 0
        switch (status, request.method) {
        case (429, "PUT"):
            if !isErasing, let instanceToken {
                challenge = Challenge(problem: body, token: instanceToken, now: now)
            }
            // A proof that was not enough: many come, and not at once again.
            if challenge == nil || request.hasProof {
                pause(now, atLeast: challenge == nil ? asked : 0)
            }
        // Only the operator can change that.
        case (422, "PUT"): pause(now, atLeast: 6 * 3600)
        // Not of the form that this service takes: a defect of this app, or of the token.
        case (400, "PUT"), (401, "PUT"), (413, "PUT"): isRefused = wish == request.token
        default: pause(now, atLeast: asked)
        }
    }

    /// The request got no answer. The service may have done it: it will be sent again.
    public mutating func failed(now: Double) { pause(now, atLeast: 0) }

    private mutating func succeed(_ request: Request, _ now: Double) {
        (challenge, proof, failures, nextTime) = (nil, nil, 0, now)
        if request.method == "DELETE" {
            (instanceToken, confirmed, isErasing) = (nil, nil, false)
        } else if !isErasing {
            confirmed = request.token
            if wish == confirmed { nextTime = now + .random(in: Self.renewalDays) * 86_400 }
        }
    }

    /// 30 s and twice as long each time, 6 hours at most, and half of it at random.
    private mutating func pause(_ now: Double, atLeast asked: Double) {
        let longest = min(30 * pow(2, Double(failures)), 6 * 3600)
        failures = min(failures + 1, 16)
        nextTime = now + asked + .random(in: longest / 2...longest)
    }

    /// Of one length, whatever is in it.
    private func body(of token: PushToken) -> Data {
        var members: [String: String] = [:]
        switch token {
        case .apns(let bytes, let isSandbox):
            members["service"] = isSandbox ? "apns-sandbox" : "apns"
            members["token"] = bytes.map { String(format: "%02x", $0) }.joined()
        case .fcm(let text):
            members["service"] = "fcm"
            members["token"] = text
        }
        members["proof"] = proof
        let json = (try? JSONEncoder().encode(members)) ?? Data()
        return json + Data(repeating: UInt8(ascii: " "), count: max(0, 1024 - json.count))
    }

    private static func randomToken() -> Data {
        // The system's generator is a cryptographic one on every platform of Swift.
        Data((0..<32).map { _ in UInt8.random(in: 0...255) })
    }
}

/// Work that a service asks of new registrations while many come.
public struct Challenge: Codable, Sendable, Equatable {
    fileprivate let expires: Double
    private let text: String
    private let bits: Int
    private let token: Data

    fileprivate init?(problem body: Data, token: Data, now: Double) {
        guard let problem = try? JSONSerialization.jsonObject(with: body) as? [String: Any],
            problem["code"] as? String == "proof_needed",
            let text = problem["challenge"] as? String, text.utf8.count == 32,
            let bits = problem["bits"] as? Int, (1...26).contains(bits),
            let seconds = problem["seconds"] as? Int, seconds > 0
        else { return nil }
        (self.text, self.bits, self.token) = (text, bits, token)
        expires = now + Double(min(seconds, 3600))
    }

    /// Searches, for some hundredths of a second up to a minute of one core.
    /// - Parameter goesOn: asked now and then; false ends the search without a proof.
    public func solve(while goesOn: () -> Bool = { true }) -> String? {
        let padded = text.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        guard let challenge = Data(base64Encoded: padded) else { return nil }
        var message = [UInt8]("reveille-proof-1".utf8) + challenge + [UInt8](repeating: 0, count: 6)
        let place = message.count - 6
        message += token
        for nonce in UInt64(0)..<1 << 34 {
            if nonce & 0xFFF == 0, !goesOn() { return nil }
            for index in 0..<6 {
                message[place + index] = UInt8(truncatingIfNeeded: nonce >> (40 - 8 * index))
            }
            if blake2bStart(message).leadingZeroBitCount >= bits {
                return base64URL(challenge + Data(message[place..<place + 6]))
            }
        }
        return nil
    }
}

/// RFC 4648 §5, without padding.
private func base64URL(_ bytes: Data) -> String {
    bytes.base64EncodedString().replacingOccurrences(of: "+", with: "-")
        .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
}

/// The first eight bytes, most significant first, of BLAKE2b-256 (RFC 7693) of at most 128 bytes.
private func blake2bStart(_ message: [UInt8]) -> UInt64 {
    var m = [UInt64](repeating: 0, count: 16)
    for (index, byte) in message.enumerated() {
        m[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8)
    }
    var v = blake2bStates + blake2bStates
    v[0] ^= 0x0101_0020
    v[12] ^= UInt64(message.count)
    v[14] = ~v[14]
    let first = v[0]
    for round in 0..<12 {
        let order = blake2bOrders[round % 10]
        for lane in 0..<8 {
            let shift = lane / 4
            let (a, b) = (lane % 4, 4 + (lane + shift) % 4)
            let (c, d) = (8 + (lane + 2 * shift) % 4, 12 + (lane + 3 * shift) % 4)
            v[a] = v[a] &+ v[b] &+ m[order[2 * lane]]
            v[d] = rotated(v[d] ^ v[a], 32)
            v[c] = v[c] &+ v[d]
            v[b] = rotated(v[b] ^ v[c], 24)
            v[a] = v[a] &+ v[b] &+ m[order[2 * lane + 1]]
            v[d] = rotated(v[d] ^ v[a], 16)
            v[c] = v[c] &+ v[d]
            v[b] = rotated(v[b] ^ v[c], 63)
        }
    }
    return (first ^ v[0] ^ v[8]).byteSwapped
}

private func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 {
    word >> count | word << (64 - count)
}

/// RFC 7693 §2.6.
private let blake2bStates: [UInt64] = [
    0x6A09_E667_F3BC_C908, 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1,
    0x510E_527F_ADE6_82D1, 0x9B05_688C_2B3E_6C1F, 0x1F83_D9AB_FB41_BD6B, 0x5BE0_CD19_137E_2179,
]

/// RFC 7693 §2.7.
private let blake2bOrders: [[Int]] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
]
