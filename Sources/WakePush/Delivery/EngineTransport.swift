private import Synchronization
import WakeModel
import WakeSystem

/// The differences between APNs and FCM: address, tokens, meaning of answers.
protocol EngineService: Gateway {
    associatedtype Tokens: TokenProvider

    var tokens: Tokens { get }
    /// Connections to the push service.
    var connections: Int { get }
    /// The most wake-ups that are with the engine at once: as many streams as a push service may
    /// allow.
    var concurrency: Int { get }

    /// - Parameter lifetime: seconds the push service keeps a wake-up for a device that is off.
    /// Its template is used for a quarter of an hour at most.
    func engine(authorization: [UInt8], lifetime: Int, now: ClockReading) -> EngineConfiguration
    /// Appends the form of a push token that completes the request.
    /// - Parameter inOtherForm: the one that is tried once after an answer that `blamesForm`.
    static func append(_ token: Span<UInt8>, inOtherForm: Bool, to text: inout [UInt8])
    /// Whether an answer is believed only once the push token was sent in its other form.
    static func blamesForm(_ verdict: Verdict) -> Bool
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
    static func blamesForm(_ verdict: Verdict) -> Bool { false }

    /// Twice the 100 streams that a push service allows on a connection, as a rule.
    package var window: Int { 200 * connections }
    var concurrency: Int { max(window, connections * ConnectionLimits().streams) }

    package func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewaySession {
        DeliverySession(
            EngineDelivery(self), EngineTransport(self, lifetime: lifetime), report: report)
    }
}

/// The engine of one session, made with the first credential. Its template is made again with every
/// other credential, and every quarter of an hour.
final class EngineTransport<Service: EngineService>: DeliveryTransport {
    typealias State = EngineDelivery<Service>

    private struct Locked {
        var engine: PushEngine?
        var serial = 0
        /// The time to make the template again, milliseconds.
        var templateDue: UInt64 = 0
        /// The time to ask for the credential again, milliseconds.
        var credentialDue: UInt64 = 0
        var mustWait = false
        var delay: Unavailability?
    }

    private let service: Service
    /// Seconds.
    private let lifetime: Int
    private let clock: @Sendable () -> ClockReading
    private let locked = Mutex(Locked())

    private static var credentialInterval: UInt64 { 1000 }
    /// Milliseconds for which a template is used: the time at which its wake-ups expire comes
    /// nearer, and they lose an eighth of their lifetime at most.
    private var templateInterval: UInt64 { UInt64(min(900_000, lifetime * 1000 / 8)) }

    init(
        _ service: Service, lifetime: Int,
        clock: @escaping @Sendable () -> ClockReading = ClockReading.system
    ) {
        self.service = service
        self.lifetime = lifetime
        self.clock = clock
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
        let reading = clock()
        let credential = try service.tokens.credential(at: reading) { [weak self, weak session] in
            self?.expireCredential()
            session?.resume()
        }
        switch credential {
        case .wait(_, let reason):
            locked.mustWait = true
            locked.delay = reason ?? locked.delay
        case .value(let value, let serial):
            locked.mustWait = false
            guard locked.engine == nil || serial != locked.serial || now >= locked.templateDue
            else { return }
            let configuration = service.engine(
                authorization: value, lifetime: lifetime, now: reading)
            if let engine = locked.engine {
                engine.update(configuration.template)
            } else {
                locked.engine = try start(configuration, session)
            }
            locked.serial = serial
            locked.templateDue = now + templateInterval
        }
    }

    private func start(
        _ configuration: EngineConfiguration, _ session: DeliverySession<EngineTransport>
    ) throws(GatewayFailure) -> PushEngine {
        try mapError(
            { GatewayFailure.misconfigured(.engine($0, service.service)) },
            try PushEngine(configuration) { [weak session] in _ = session?.receive($0) })
    }

    private func expireCredential() { locked.withLock { $0.credentialDue = 0 } }

    func learn(_ feedback: CredentialFeedback) throws(GatewayFailure) {
        if feedback.isRefusal { expireCredential() }
        if feedback.hasWorked { locked.withLock { $0.delay = nil } }
        try service.tokens.learn(feedback, at: clock())
    }

    var delay: GatewayFailure? {
        locked.withLock { $0.delay }.map { .unavailable($0, service.service) }
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
