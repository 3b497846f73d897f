import Synchronization
import TestSupport
import WakeModel
import WakePush

/// A push service that does what a test says.
final class SessionGateway: Gateway {
    /// What was opened, and what is with it.
    struct Seen: Sendable {
        var lifetimes: [Int] = []
        var rounds: [PlayedRound] = []
    }

    let service: PushService
    let connections = 1
    let window = 1000
    let seen = Observed(Seen())
    /// What becomes of a wake-up at once; nil: the test says it later.
    private let answer: @Sendable (WakeUp) -> Delivery?

    init(
        _ service: PushService = .apns,
        _ answer: @escaping @Sendable (WakeUp) -> Delivery? = { _ in .accepted }
    ) {
        self.service = service
        self.answer = answer
    }

    func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewaySession {
        let round = PlayedRound(answer, report)
        seen.update { seen in
            seen.lifetimes.append(lifetime)
            seen.rounds.append(round)
        }
        return round
    }

    /// Waits for so many rounds to have been opened.
    func round(_ number: Int) async throws -> PlayedRound {
        try await seen.first { $0.rounds.count > number ? $0.rounds[number] : nil }
    }
}

final class PlayedRound: GatewaySession {
    /// Wake-ups without a delivery.
    let waiting = Observed<[WakeUp]>([])
    let isStopped = Observed(false)
    private let answer: @Sendable (WakeUp) -> Delivery?
    private let report: @Sendable (GatewayReport) -> Void

    init(
        _ answer: @escaping @Sendable (WakeUp) -> Delivery?,
        _ report: @escaping @Sendable (GatewayReport) -> Void
    ) {
        self.answer = answer
        self.report = report
    }

    func send(_ wakeUps: [WakeUp]) {
        var settled: [WakeUpResult] = []
        for wakeUp in wakeUps {
            if let delivery = answer(wakeUp) {
                settled.append(WakeUpResult(reference: wakeUp.reference, delivery: delivery))
            } else {
                waiting.update { $0.append(wakeUp) }
            }
        }
        if !settled.isEmpty { report(.completed(settled)) }
    }

    /// Settles what waits, in the order given.
    func settle(_ count: Int, _ delivery: Delivery) {
        let wakeUps = waiting.update { waiting in
            let first = Array(waiting.prefix(count))
            waiting.removeFirst(first.count)
            return first
        }
        report(
            .completed(wakeUps.map { WakeUpResult(reference: $0.reference, delivery: delivery) }))
    }

    func fail(_ failure: GatewayFailure) { report(.failed(failure)) }

    func flush(isFinal: Bool) {}
    func tick() {}
    var inFlight: Int { waiting.value.count }
    func quiesce() -> Int { 0 }
    func cancel() { isStopped.update { $0 = true } }
}
