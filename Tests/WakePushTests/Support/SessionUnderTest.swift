import Dispatch
import TestSupport
import WakeModel

@testable import WakePush

/// A gateway's session with its reports, and a timer that lets its time pass.
class SessionUnderTest {
    let reports: Observed<[GatewayReport]>
    let round: any GatewaySession
    let begun = ContinuousClock.now
    private let timer: any DispatchSourceTimer

    /// - Parameter ticks: whether time passes.
    init(_ gateway: some Gateway, ticks: Bool = true) {
        let reports = Observed<[GatewayReport]>([])
        let round = gateway.open(lifetime: 7200) { report in
            reports.update { $0.append(report) }
        }
        self.reports = reports
        self.round = round
        timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now(), repeating: .milliseconds(50))
        timer.setEventHandler { [weak round] in if ticks { round?.tick() } }
        timer.resume()
    }

    deinit {
        timer.cancel()
        round.cancel()
    }

    var failure: GatewayFailure? { Self.failure(reports.value) }

    /// Waits until `count` are settled, or the gateway has failed.
    func settled(_ count: Int) async throws -> [Int: Delivery] {
        try await reports.first { reports in
            let settled = Self.settled(reports)
            guard settled.count >= count || Self.failure(reports) != nil else { return nil }
            return Dictionary(uniqueKeysWithValues: settled.map { ($0.reference, $0.delivery) })
        }
    }

    static func settled(_ reports: [GatewayReport]) -> [WakeUpResult] {
        reports.flatMap { report -> [WakeUpResult] in
            if case .completed(let wakeUps) = report { wakeUps } else { [] }
        }
    }

    static func failure(_ reports: [GatewayReport]) -> GatewayFailure? {
        for case .failed(let failure) in reports { return failure }
        return nil
    }
}
