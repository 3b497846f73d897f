import Synchronization
import TestSupport
import WakeModel
import WakePush

/// A gateway that accepts everything, but for what the test plays.
final class PlayedGateway: Gateway {
    let service: PushService
    let connections = 1
    let window = 64
    /// Push tokens, and how often each was sent.
    let pushed = Observed<[[UInt8]: Int]>([:])
    let sessions = Observed(0)
    /// Whether results wait for `release`.
    let isHolding = Observed(false)
    /// Whether some pushes are repeated.
    let isRepeating = Observed(false)
    /// Whether most wake-ups are given back until the final flush.
    let givesBack = Observed(false)
    /// Sessions that fail before one does not.
    let failing = Observed(0)
    private let settings = Mutex(
        (accepts: 10, failure: GatewayFailure.unavailable(.unreachable, .fcm)))
    private let held = Mutex<[(count: Int, report: @Sendable () -> Void)]>([])

    init(_ service: PushService) { self.service = service }

    /// Wake-ups that a session accepts before it fails.
    var acceptsBeforeFailure: Int {
        get { settings.withLock { $0.accepts } }
        set { settings.withLock { $0.accepts = newValue } }
    }
    var failure: GatewayFailure {
        get { settings.withLock { $0.failure } }
        set { settings.withLock { $0.failure = newValue } }
    }
    var mostPushes: Int { pushed.value.values.max() ?? 0 }

    func release() {
        isHolding.update { $0 = false }
        for batch in held.withLock({ held in
            defer { held = [] }; return held
        }) { batch.report() }
    }

    func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewaySession {
        sessions.update { $0 += 1 }
        let fails = failing.update { failing in
            defer { failing -= failing > 0 && failing < .max ? 1 : 0 }
            return failing > 0
        }
        return Session(self, fails: fails, report: report)
    }

    fileprivate var heldCount: Int { held.withLock { $0.reduce(0) { $0 + $1.count } } }

    fileprivate func accept(
        _ wakeUps: ArraySlice<WakeUp>, _ report: @escaping @Sendable (GatewayReport) -> Void
    ) {
        let results = wakeUps.map { wakeUp in
            let bytes = wakeUp.token.bytes.copy()
            let isRepeated = isRepeating.value && wakeUp.mayRepeat && bytes[0] % 5 == 0
            pushed.update { $0[bytes, default: 0] += isRepeated ? 2 : 1 }
            return WakeUpResult(
                reference: wakeUp.reference, delivery: .accepted, isRepeated: isRepeated)
        }
        guard isHolding.value else { return report(.completed(results)) }
        held.withLock { $0.append((results.count, { report(.completed(results)) })) }
    }

    private final class Session: GatewaySession {
        private let gateway: PlayedGateway
        private let fails: Bool
        private let report: @Sendable (GatewayReport) -> Void
        private let state = Mutex((accepted: 0, isOver: false))

        init(
            _ gateway: PlayedGateway, fails: Bool,
            report: @escaping @Sendable (GatewayReport) -> Void
        ) {
            self.gateway = gateway
            self.fails = fails
            self.report = report
        }

        func send(_ wakeUps: [WakeUp]) {
            if gateway.givesBack.value {
                let some = wakeUps.prefix(wakeUps.count / 4)
                gateway.accept(some, report)
                return report(.deferred(wakeUps.dropFirst(some.count).map(\.reference)))
            }
            guard fails else { return gateway.accept(wakeUps[...], report) }
            let count = state.withLock { state -> Int? in
                guard !state.isOver else { return nil }
                let room = max(0, gateway.acceptsBeforeFailure - state.accepted)
                let count = min(room, wakeUps.count)
                state.accepted += count
                state.isOver = count < wakeUps.count
                return count
            }
            guard let count else { return }
            if count > 0 { gateway.accept(wakeUps[..<count], report) }
            if count < wakeUps.count { report(.failed(gateway.failure)) }
        }

        func flush(isFinal: Bool) {
            if isFinal { gateway.givesBack.update { $0 = false } }
        }
        func tick() {}
        /// As if the push service had what is held.
        var inFlight: Int { gateway.heldCount }
        func quiesce() -> Int { 0 }
        func cancel() { state.withLock { $0.isOver = true } }
    }
}
