import TestSupport
import WakeModel

@testable import WakePush

/// A push service without an engine: answers mean what they mean for APNs.
struct FakeEngineService: EngineService {
    var service: PushService { .apns }
    var window: Int { 100 }
    var perMinute: Int? { nil }

    func credential(
        at now: ClockReading, whenChanged: @escaping @Sendable () -> Void
    ) throws(GatewayFailure) -> Credential {
        .value([], serial: 1)
    }

    func engine(
        authorization: [UInt8], lifetime: Int, now: ClockReading
    ) -> EngineConfiguration {
        EngineConfiguration(
            host: "localhost", port: 1, transport: .plain,
            shape: RequestShape(
                scheme: "http", authority: "localhost", path: "/", tokenPlace: .path, body: []))
    }

    func append(_ token: PushToken, to batch: inout PushBatch) { batch.append([0]) }

    static var tokenBytes: Int { 1 }

    static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
        APNsAnswers.verdict(status: status, body: body)
    }

    func note(_ news: CredentialNews, at now: ClockReading) throws(GatewayFailure) {}
}

extension WakeUpFlow {
    /// The next batch, which must be there.
    mutating func batch(
        now: UInt64
    ) throws -> (batch: UInt32, entries: ArraySlice<WakeUpLedger.Entry>) {
        guard let next = next(now: now) else { throw TestFailure("nothing to send at \(now)") }
        return next
    }

    /// Whether there is nothing to send now.
    mutating func isIdle(now: UInt64) -> Bool { next(now: now) == nil }
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
        _ batch: UInt32, _ order: UInt32, on connection: UInt32 = 1, status: UInt16,
        reason: String = "", retryAfter: UInt32 = 0
    ) {
        let body = reason.isEmpty ? [] : Array(#"{"reason":"\#(reason)"}"#.utf8)
        let place = PushBody(start: UInt32(bodies.count), count: UInt32(body.count))
        bodies += body
        results.append(
            PushResult(
                batch: batch, order: order,
                outcome: .answered(status: status, retryAfter: retryAfter, body: place),
                connection: connection))
    }

    mutating func lose(
        _ batch: UInt32, _ order: UInt32, on connection: UInt32 = 1, isSafe: Bool
    ) {
        results.append(
            PushResult(
                batch: batch, order: order, outcome: .retry(isSafe: isSafe),
                connection: connection))
    }

    mutating func fail(_ batch: UInt32, _ order: UInt32, _ failure: PushFailure) {
        results.append(
            PushResult(batch: batch, order: order, outcome: .failed(failure), connection: 0))
    }
}

/// SplitMix64: the same in every run.
struct RoundGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0xD134_2543_DE82_EF95 &+ 99 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
