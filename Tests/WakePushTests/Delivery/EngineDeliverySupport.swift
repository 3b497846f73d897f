import TestSupport
import WakeModel
import WakeSystem

@testable import WakePush

/// A push service without an engine.
protocol FakeService: EngineService {}

/// Answers mean what they mean for APNs.
struct FakeEngineService: FakeService {
    var service: PushService { .apns }
    var window = 100
    var perMinute: Int? { nil }

    static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        APNsResponses.verdict(status: status, body: body)
    }
}

/// Answers mean what they mean for FCM.
struct FakeFCMService: FakeService {
    var service: PushService { .fcm }
    var window: Int
    var perMinute: Int?

    static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        FCMGateway.verdict(status: status, body: body)
    }

    static func leastWait(after cause: RetryCause) -> Int { FCMGateway.leastWait(after: cause) }
}

struct FakeTokens: TokenProvider {
    func credential(
        at now: ClockReading, whenChanged: @escaping @Sendable () -> Void
    ) throws(GatewayFailure) -> Credential {
        .value([], serial: 1)
    }

    func learn(_ feedback: CredentialFeedback, at now: ClockReading) throws(GatewayFailure) {}
}

extension FakeService {
    var concurrency: Int { window }
    var connections: Int { 1 }
    var tokens: FakeTokens { FakeTokens() }

    func engine(
        authorization: [UInt8], lifetime: Int, now: ClockReading
    ) -> EngineConfiguration {
        EngineConfiguration(
            host: "localhost", port: 1, transport: .plain,
            template: RequestTemplate(
                scheme: "http", authority: "localhost", path: "/", tokenPlace: .path, body: []))
    }

    /// The token's number, see `WakeUp.numbered`.
    static func append(_ token: Span<UInt8>, inOtherForm: Bool, to text: inout [UInt8]) {
        text.append(span: token.extracting(24..<32))
    }

    static var tokenBytes: Int { 8 }
}

extension EngineDelivery<FakeEngineService> {
    init(window: Int) { self.init(FakeEngineService(window: window)) }
}

extension EngineDelivery where Service: FakeService {
    /// The next batch, which must be there.
    mutating func batch(now: UInt64) throws -> PushBatch {
        try advance(now: now)
        guard let batch = next(now: now) else { throw TestFailure("nothing to send at \(now)") }
        return batch
    }

    /// Whether there is nothing to send now.
    mutating func isIdle(now: UInt64) throws -> Bool {
        try advance(now: now)
        return next(now: now) == nil
    }

    mutating func add(_ wakeUps: [WakeUp]) { _ = add(wakeUps, now: 0) }

    mutating func receive(
        _ outcomes: PushOutcomes, now: UInt64, jitter: Double = 0
    ) throws(GatewayFailure) -> DeliveryStep {
        let step = receive(outcomes, at: DeliveryMoment(now: now, jitter: jitter))
        if let failure = step.failure { throw failure }
        return step
    }
}

extension PushBatch {
    var references: [UInt64] { (0..<count).map(reference) }

    /// The numbers of the push tokens.
    var tokens: [Int] {
        (0..<count).map { index in
            var number = 0
            withToken(index) { number = Int($0.bigEndian(at: 0, as: UInt64.self)) }
            return number
        }
    }
}

extension WakeUp {
    /// A wake-up to a push token that is its number.
    init(_ reference: Int) throws {
        let number = (0..<8).map { UInt8(truncatingIfNeeded: reference >> (56 - 8 * $0)) }
        self.init(
            reference: reference,
            token: try PushToken(
                service: .apns, bytes: [UInt8](repeating: 0, count: 24) + number))
    }

    static func numbered(_ references: Range<Int>) throws -> [WakeUp] {
        try references.map { try WakeUp($0) }
    }
}

extension PushOutcomes {
    mutating func answer(
        _ reference: UInt64, status: UInt16, reason: String = "",
        retryAfter: UInt32 = 0
    ) {
        let body = append(body: reason.isEmpty ? [] : Array(#"{"reason":"\#(reason)"}"#.utf8))
        append(
            reference, .answered(status: status, retryAfter: retryAfter, body: body))
    }

    mutating func lose(
        _ reference: UInt64, _ failure: AttemptFailure
    ) {
        append(reference, .retry(failure))
    }
}
