private import Synchronization
import WakeModel
import WakeSystem

/// The differences between APNs and FCM: address, tokens, meaning of answers.
protocol EngineService: Gateway {
    associatedtype Tokens: TokenProvider

    var tokens: Tokens { get }

    /// - Parameter lifetime: seconds the push service keeps a wake-up for a device that is off.
    func engine(authorization: [UInt8], lifetime: Int, now: ClockReading) -> EngineConfiguration
    /// The form of a push token that completes the request.
    static func form(_ token: Span<UInt8>) -> [UInt8]
    /// The usual size of that form, bytes.
    static var tokenBytes: Int { get }
    static func verdict(status: Int, body: Span<UInt8>) -> Verdict
    /// Seconds, at least, before a wake-up is tried again.
    static func leastWait(after cause: RetryCause) -> Int
    /// Refusals of push tokens alone that make the gateway suspicious at the end of a round.
    var suspiciousRefusals: Int { get }
}

extension EngineService {
    static func leastWait(after cause: RetryCause) -> Int { 0 }
    var suspiciousRefusals: Int { 1 }

    package var window: Int { 2 * connections * streams }

    package func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewaySession {
        DeliverySession(
            EngineDelivery(self), EngineTransport(self, lifetime: lifetime), report: report)
    }
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
    case wait(seconds: Int)
}

struct CurrentToken<Token: Equatable & Sendable>: Sendable {
    private(set) var token: Token?
    private(set) var serial = 0
    /// Uptime in seconds when `token` replaced another; nil for the first of this process.
    private var replacedAt: Int?

    /// Seconds after a change in which answers may be to the token before.
    private static var recentSeconds: Int { 1 + Int(ConnectionLimits().answerMilliseconds / 1000) }

    @discardableResult mutating func use(_ token: Token, uptime: Int) -> Int {
        guard token != self.token else { return serial }
        if self.token != nil { replacedAt = uptime }
        self.token = token
        serial += 1
        return serial
    }

    func isRecent(uptime: Int) -> Bool {
        guard let replacedAt else { return false }
        return uptime - replacedAt < Self.recentSeconds
    }
}

/// The engine of one session, made with the first credential.
final class EngineTransport<Service: EngineService>: DeliveryTransport {
    typealias State = EngineDelivery<Service>

    private struct Locked {
        var engine: PushEngine?
        var serial = 0
        /// The time to ask for the credential again, milliseconds.
        var credentialDue: UInt64 = 0
        var mustWait = false
    }

    private let service: Service
    private let lifetime: Int
    private let locked = Mutex(Locked())

    private static var credentialInterval: UInt64 { 1000 }

    init(_ service: Service, lifetime: Int) {
        self.service = service
        self.lifetime = lifetime
    }

    func prepare(
        now: UInt64, for session: DeliverySession<EngineTransport>
    ) throws(GatewayFailure) -> Bool {
        try locked.withLock { locked throws(GatewayFailure) in
            try renewCredential(&locked, now, session)
            return !locked.mustWait
        }
    }

    private func renewCredential(
        _ locked: inout Locked, _ now: UInt64, _ session: DeliverySession<EngineTransport>
    ) throws(GatewayFailure) {
        guard now >= locked.credentialDue else { return }
        locked.credentialDue = now + Self.credentialInterval
        let reading = ClockReading.system()
        let credential = try service.tokens.credential(at: reading) { [weak self, weak session] in
            self?.expireCredential()
            session?.resume()
        }
        switch credential {
        case .wait: locked.mustWait = true
        case .value(let value, let serial):
            locked.mustWait = false
            if let engine = locked.engine {
                if serial != locked.serial { engine.updateAuthorization(value) }
            } else {
                locked.engine = try start(value, reading, session)
            }
            locked.serial = serial
        }
    }

    private func start(
        _ authorization: [UInt8], _ now: ClockReading, _ session: DeliverySession<EngineTransport>
    ) throws(GatewayFailure) -> PushEngine {
        let configuration = service.engine(
            authorization: authorization, lifetime: lifetime, now: now)
        return try mapError(
            { GatewayFailure.misconfigured(.engine($0, service.service)) },
            try PushEngine(configuration) { [weak session] in _ = session?.receive($0) })
    }

    private func expireCredential() { locked.withLock { $0.credentialDue = 0 } }

    func learn(_ feedback: CredentialFeedback) throws(GatewayFailure) {
        if feedback != .worked { expireCredential() }
        try service.tokens.learn(feedback, at: .system())
    }

    func perform(_ batch: PushBatch, for session: DeliverySession<EngineTransport>) {
        guard let engine = locked.withLock({ $0.engine }) else { return }
        // Refused only after `cancel`: the window is far below the engine's limit.
        _ = engine.submit(batch)
    }

    func cancel() {
        locked.withLock { locked in
            locked.engine?.cancel()
            locked.engine = nil
        }
    }
}
