private import Glibc
private import Synchronization
private import WakeModel
package import WakeSystem

/// The provider token of one developer account, kept on disk: a restart does not make another.
package final class APNsTokenProvider: TokenProvider {
    package let topic: String
    private let credentials: APNsCredentials
    private let file: ProviderTokenFile
    private let policy: Mutex<APNsTokenPolicy>

    /// - Parameter reuse: seconds a token is used, 20 to 59 minutes.
    package init(
        _ credentials: APNsCredentials, tokenFile: String, reuse: Int = APNsTokenPolicy.usual
    ) throws(ProviderTokenError) {
        topic = credentials.topic
        self.credentials = credentials
        file = ProviderTokenFile(path: tokenFile)
        policy = Mutex(APNsTokenPolicy(reuse: reuse, kept: try file.read(credentials)))
    }

    package func credential(
        at now: ClockReading, whenChanged: @escaping @Sendable () -> Void = {}
    ) throws(GatewayFailure) -> Credential {
        try policy.withLock { policy throws(GatewayFailure) in
            switch policy.decide(now) {
            case .wait(let seconds):
                return .wait(seconds: seconds, policy.isSlow ? .providerTokenUpdates : nil)
            case .use(let token, let serial):
                return .value(APNsRequest.authorization(token), serial: serial)
            case .mint:
                guard let token = ProviderToken(mintedBy: credentials, at: now) else {
                    throw .misconfigured(.providerToken(.cannotSign))
                }
                // On a full disk pushes go out all the same; a restart then makes another.
                file.write(token)
                let serial = policy.minted(token, at: now)
                return .value(APNsRequest.authorization(token), serial: serial)
            }
        }
    }

    /// Throws when a token was refused that had just been made.
    func learn(_ feedback: CredentialFeedback, at now: ClockReading) throws(GatewayFailure) {
        try policy.withLock { policy throws(GatewayFailure) in try policy.learn(feedback, at: now) }
    }
}

/// The rules for using and replacing a provider token, as a value. Apple: one new token in 20
/// minutes at most (TooManyProviderTokenUpdates), none older than an hour (ExpiredProviderToken).
/// More often only where a clock was put right.
package struct APNsTokenPolicy: Sendable {
    package enum Decision: Sendable, Equatable {
        case use(ProviderToken, serial: Int)
        case mint
        case wait(seconds: Int)
    }

    /// The shortest time between two tokens of a clock that is right, seconds.
    package static let shortest = 20 * 60
    /// Seconds after which no token is used.
    package static let longest = 60 * 60
    /// Seconds a token is used: ten minutes short, for what is in flight and clocks that differ.
    package static let usual = 50 * 60

    private let reuse: Int
    private var current: TokenInUse
    /// The token made last, and the last one that worked.
    private var made: ProviderToken?
    private var accepted: ProviderToken?
    private var pauses = Backoff(base: .seconds(1), ceiling: .seconds(60), jitter: .stretch)
    /// Uptime, seconds.
    private var pausedUntil = Int.min

    /// - Parameter kept: the token of an earlier run. `reuse`: seconds, 20 to 59 minutes.
    package init(reuse: Int = Self.usual, kept: ProviderToken? = nil) {
        precondition((Self.shortest..<Self.longest).contains(reuse))
        self.reuse = reuse
        made = kept.map { Self.limited($0, to: reuse) }
        current = TokenInUse(made)
    }

    private static func limited(_ token: ProviderToken, to seconds: Int) -> ProviderToken {
        var token = token
        (token.refresh, token.end) = (seconds, seconds)
        return token
    }

    /// Whether the pauses are long enough to be told.
    package var isSlow: Bool { pauses.failures > 2 }

    package mutating func decide(_ now: ClockReading) -> Decision {
        if now.uptime < pausedUntil { return .wait(seconds: pausedUntil - now.uptime) }
        // The end of the older one, which APNs had accepted: the newer one is not a new one by now.
        if let made, current.usable(at: now) == nil, current.token != made, made.isUsable(at: now) {
            current.use(made, uptime: now.uptime)
        }
        return current.usable(at: now).map { .use($0, serial: current.serial) } ?? .mint
    }

    /// - Returns: the serial of its value.
    package mutating func minted(_ token: ProviderToken, at now: ClockReading) -> Int {
        let token = Self.limited(token, to: reuse)
        made = token
        current.use(token, uptime: now.uptime)
        return current.serial
    }

    /// Throws `clockWrong` when a token was called expired that is too young for that, or was
    /// itself the answer to such a refusal.
    package mutating func learn(
        _ feedback: CredentialFeedback, at now: ClockReading
    ) throws(GatewayFailure) {
        let isRefused = current.learn(feedback, uptime: now.uptime)
        if feedback.hasWorked {
            pauses.succeed()
            if current.hasWorked { accepted = current.token }
        }
        if feedback.tooManyUpdates > 0 { pause(now) }
        guard isRefused, let age = current.token?.age(at: now) else { return }
        guard current.isReplacement || age < Self.shortest else { return }
        current.retry()
        throw .misconfigured(.apns(.clockWrong))
    }

    /// 429 TooManyProviderTokenUpdates: Apple takes the token that it knows. Answers that were in
    /// flight when the pause began do not make it longer.
    private mutating func pause(_ now: ClockReading) {
        guard now.uptime >= pausedUntil else { return }
        pausedUntil = now.uptime + Int(pauses.fail(random: 0) / .seconds(1))
        guard !current.hasWorked, let accepted, accepted != current.token else { return }
        let other = Self.limited(accepted, to: Self.longest - 60)
        if other.isUsable(at: now) { current.use(other, uptime: now.uptime) }
    }
}

/// A JSON Web Token of the sender (Apple, "Establishing a token-based connection to APNs").
extension ProviderToken {
    /// Makes and signs a token; nil when libcrypto refuses.
    init?(mintedBy credentials: APNsCredentials, at now: ClockReading) {
        let text = JSONWebToken.text(Self.signedPart(credentials, issuedAt: now.wall)) {
            credentials.key.sign($0)?.raw
        }
        guard let text else { return nil }
        self.init(text, now)
    }

    private init(_ text: SecretBytes, _ issued: ClockReading) {
        let usual = APNsTokenPolicy.usual
        self.init(text: text, issued: issued, refresh: usual, end: usual)
    }

    /// A kept token; nil unless these credentials would make the same.
    init?(text: Span<UInt8>, minted: ClockReading, credentials: APNsCredentials) {
        var expected = Self.signedPart(credentials, issuedAt: minted.wall)
        defer { expected.wipe() }
        let dot = expected.count
        guard text.count > dot + 1, text[dot] == UInt8(ascii: ".") else { return nil }
        for index in expected.indices where text[index] != expected[index] { return nil }
        // A file from before the key was replaced must not keep the old key in use.
        guard let raw = Base64URL.decode(text.extracting((dot + 1)...)),
            let signature = ECDSASignature(raw: raw),
            credentials.key.verifies(signature, of: expected.span)
        else { return nil }
        self.init(SecretBytes(text), minted)
    }

    private static func signedPart(_ credentials: APNsCredentials, issuedAt: Int) -> [UInt8] {
        JSONWebToken.signedPart {
            $0.member("alg", string: "ES256" as StaticString)
            $0.member("kid", string: credentials.keyID)
        } claims: {
            $0.member("iss", string: credentials.teamID)
            $0.member("iat", number: issuedAt)
        }
    }
}

/// The provider token on disk, mode 0600.
package struct ProviderTokenFile: Sendable {
    private let file: StateFile<Record>

    package init(path: String) { file = StateFile(path, protection: .secrecy) }

    /// The kept token, if it is one of these credentials. Throws for a file that cannot be read:
    /// minting then could be once too often.
    func read(_ credentials: APNsCredentials) throws(ProviderTokenError) -> ProviderToken? {
        do throws(StateFileError) {
            guard let record = try file.readIfPresent() else { return nil }
            return record.text.withSpan {
                ProviderToken(text: $0, minted: record.minted, credentials: credentials)
            }
        } catch {
            // A damaged file, or one with wider permissions, is as good as none.
            guard case .file(let error) = error.fault, error.number != EPERM else { return nil }
            throw .file(error)
        }
    }

    func write(_ token: ProviderToken) {
        try? file.write(Record(text: token.text, minted: token.issued))
    }

    private struct Record: StateRecord {
        static var format: StaticString { "apns-token" }
        static var version: Int { 1 }
        /// A token has about 200 bytes.
        static var byteLimit: Int { 4096 }

        let text: SecretBytes
        let minted: ClockReading

        init(text: SecretBytes, minted: ClockReading) {
            self.text = text
            self.minted = minted
        }

        func encode(to state: inout JSONText) {
            text.withSpan { state.member("token", string: $0) }
            state.member("iat", number: minted.wall)
            state.member("uptime", number: minted.uptime)
            state.member("boot", hex: minted.boot)
        }

        init(decoding state: inout StateObject) throws(StateDamage) {
            text = SecretBytes(try state.text("token"))
            minted = ClockReading(
                wall: try state.integer("iat"), uptime: try state.integer("uptime"),
                boot: try state.hex("boot", count: 16))
        }
    }
}

/// The reason why there is no provider token.
package enum ProviderTokenError: Error, Hashable, Sendable {
    case file(FileError)
    case cannotSign

    package var message: String {
        switch self {
        case .file(let error):
            "apns: cannot read the provider token that was kept: \(error.reason)\n"
                + "hint: the data directory must be readable by the user of this service"
        case .cannotSign:
            "apns: OpenSSL refused to sign the provider token\nhint: " + OpenSSLReason.hint
        }
    }
}
