private import Glibc
private import Synchronization
package import WakeModel
package import WakeSystem

/// The provider token of one developer account, kept on disk before it is used.
package final class APNsTokenProvider: TokenProvider {
    private struct State {
        var policy: ProviderTokenPolicy
        var current = CurrentToken<ProviderToken>()
    }

    package let topic: String
    private let credentials: APNsCredentials
    private let file: ProviderTokenFile
    private let state: Mutex<State>

    /// - Parameter reuse: seconds a token is used, 20 to 59 minutes.
    package init(
        _ credentials: APNsCredentials, tokenFile: String, reuse: Int = ProviderTokenPolicy.usual
    ) throws(ProviderTokenError) {
        topic = credentials.topic
        self.credentials = credentials
        file = ProviderTokenFile(path: tokenFile)
        let kept = try file.read(credentials)
        state = Mutex(State(policy: ProviderTokenPolicy(reuse: reuse, kept: kept)))
    }

    package func credential(
        at now: ClockReading, whenChanged: @escaping @Sendable () -> Void = {}
    ) throws(GatewayFailure) -> Credential {
        try state.withLock { state throws(GatewayFailure) in
            let token: ProviderToken
            switch state.policy.decide(now) {
            case .wait(let seconds): return .wait(seconds: seconds)
            case .use(let known): token = known
            case .mint:
                token = try mapError(
                    { GatewayFailure.misconfigured(.providerToken($0)) }, try mint(now))
                state.policy.minted(token)
            }
            let serial = state.current.use(token, uptime: now.uptime)
            return .value(APNsRequest.authorization(token), serial: serial)
        }
    }

    /// Makes a token and keeps it before it is used.
    private func mint(_ now: ClockReading) throws(ProviderTokenError) -> ProviderToken {
        guard let token = ProviderToken(mintedBy: credentials, at: now) else { throw .cannotSign }
        try file.write(token)
        return token
    }

    /// Throws when a token was refused that had just been made.
    func learn(_ feedback: CredentialFeedback, at now: ClockReading) throws(GatewayFailure) {
        try state.withLock { state throws(GatewayFailure) in
            guard let token = state.current.token else { return }
            if feedback.contains(.tooManyUpdates) { state.policy.tooManyUpdates(now) }
            guard !state.current.isRecent(uptime: now.uptime) else { return }
            if feedback.contains(.worked) { state.policy.worked(token) }
            if feedback.contains(.expired) { try state.policy.expired(token, at: now) }
        }
    }
}

/// The rules for using and replacing a provider token, as a value. Apple: one new token in 20
/// minutes at most (TooManyProviderTokenUpdates), none older than an hour (ExpiredProviderToken).
package struct ProviderTokenPolicy: Sendable {
    package enum Decision: Sendable, Equatable {
        case use(ProviderToken)
        case mint
        case wait(seconds: Int)
    }

    /// The shortest time between two tokens, seconds.
    package static let shortest = 20 * 60
    /// Seconds after which no token is used.
    package static let longest = 60 * 60
    /// Seconds a token is used: ten minutes short, for what is in flight and clocks that differ.
    package static let usual = 50 * 60

    private let reuse: Int
    /// The token made last, usable or not: the time until the next one counts from it.
    private var last: ProviderToken?
    private var isRefused = false
    /// `last` was made because the one before was called expired.
    private var isReplacement = false
    /// The begin of a pause that the push service asked for, in uptime.
    private var pausedAt: Int?

    /// - Parameter kept: the token of an earlier run. `reuse`: seconds, 20 to 59 minutes.
    package init(reuse: Int = Self.usual, kept: ProviderToken? = nil) {
        precondition((Self.shortest..<Self.longest).contains(reuse))
        self.reuse = reuse
        last = kept
    }

    package mutating func decide(_ now: ClockReading) -> Decision {
        if let pausedAt {
            let left = Self.shortest - (now.uptime - pausedAt)
            if left > 0 { return .wait(seconds: left) }
            self.pausedAt = nil
        }
        guard let last else { return .mint }
        // A token of unknown age is not used.
        if !isRefused, let age = now.seconds(since: last.minted), age < reuse { return .use(last) }
        let known = now.atLeast(since: last.minted)
        return known >= Self.shortest ? .mint : .wait(seconds: Self.shortest - known)
    }

    package mutating func minted(_ token: ProviderToken) {
        isReplacement = isRefused
        isRefused = false
        last = token
    }

    /// 403 ExpiredProviderToken for a wake-up that was sent with `token`. Throws `clockWrong` when
    /// it is too young for that, or was itself the answer to such a refusal.
    package mutating func expired(
        _ token: ProviderToken, at now: ClockReading
    ) throws(GatewayFailure) {
        // Answers to the token before the last are late.
        guard token == last, !isRefused else { return }
        let age = now.seconds(since: token.minted) ?? Self.longest
        if isReplacement || age < Self.shortest { throw .misconfigured(.apns(.clockWrong)) }
        isRefused = true
    }

    package mutating func worked(_ token: ProviderToken) {
        if token == last { isReplacement = false }
    }

    /// 429 TooManyProviderTokenUpdates.
    package mutating func tooManyUpdates(_ now: ClockReading) {
        if pausedAt == nil { pausedAt = now.uptime }
    }
}

/// A JSON Web Token of the sender (Apple, "Establishing a token-based connection to APNs").
package struct ProviderToken: Sendable, Equatable, Redacted {
    /// The three parts of RFC 7515 §3.1, as they stand after `bearer `.
    package let text: SecretBytes
    package let minted: ClockReading

    /// Makes and signs a token; nil when libcrypto refuses.
    init?(mintedBy credentials: APNsCredentials, at now: ClockReading) {
        let text = JSONWebToken.text(Self.signedPart(credentials, issuedAt: now.wall)) {
            credentials.key.sign($0)?.raw
        }
        guard let text else { return nil }
        self.text = text
        minted = now
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
        self.text = SecretBytes(text)
        self.minted = minted
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

/// The provider token on disk, mode 0600: restarts must not mint.
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

    func write(_ token: ProviderToken) throws(ProviderTokenError) {
        do throws(StateFileError) {
            try file.write(Record(text: token.text, minted: token.minted))
        } catch {
            guard case .file(let error) = error.fault else { throw .file(FileError(.write, EFBIG)) }
            throw .file(error)
        }
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
            "apns: cannot keep the provider token: \(error.reason)\n"
                + "hint: the data directory must be writable by the user of this service"
        case .cannotSign:
            "apns: OpenSSL refused to sign the provider token\nhint: " + OpenSSLReason.hint
        }
    }
}
