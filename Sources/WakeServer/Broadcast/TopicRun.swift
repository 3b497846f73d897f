import Synchronization
import WakeModel
import WakePush
import WakeSystem

/// The topics of a broadcast run, one after the other at an even pace, beside the scan.
final class TopicRun: Sendable {
    private struct State {
        var sent: Int
        var failure: GatewayFailure?
        var isOver = false
    }

    private let topics: FCMTopics
    private let reports = Mailbox<GatewayReport> {}
    private let state: Mutex<State>

    private static let tickInterval = Duration.milliseconds(50)

    /// - Parameter sent: topics whose message was accepted before a restart.
    init?(_ gateways: [any Gateway], sent: UInt64) {
        guard let topics = gateways.lazy.compactMap(\.topics).first else { return nil }
        self.topics = topics
        state = Mutex(State(sent: Int(min(sent, UInt64(topics.names.count)))))
    }

    /// Messages that FCM accepted in this run.
    var sent: UInt64 { UInt64(state.withLock { $0.sent }) }
    var failure: GatewayFailure? { state.withLock { $0.failure } }
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Sends to all that are left, until the first failure or the task is cancelled.
    func run(lifetime: Int) async {
        var due = ContinuousClock.now
        // The next broadcast must not wait for this one.
        let interval = min(topics.interval, .seconds(lifetime) / (2 * topics.names.count))
        for index in state.withLock({ $0.sent })..<topics.names.count where failure == nil {
            try? await Task.sleep(until: due)
            due += interval
            guard !Task.isCancelled else { return }
            let session = topics.open(lifetime: lifetime) { [reports] in reports.post($0) }
            session.send([WakeUp(reference: index, token: topics.names[index])])
            session.flush(isFinal: true)
            await complete(session)
            session.cancel()
        }
        if !Task.isCancelled { state.withLock { $0.isOver = true } }
    }

    /// Waits for the result of one message.
    private func complete(_ session: any GatewaySession) async {
        while !Task.isCancelled {
            for report in reports.take() {
                switch report {
                case .retried: continue
                case .failed(let failure): return state.withLock { $0.failure = failure }
                case .completed(let results):
                    let isAccepted = results.first?.delivery == .accepted
                    return state.withLock { state in
                        if isAccepted {
                            state.sent += 1
                        } else {
                            state.failure = .unavailable(.pushback, .fcm)
                        }
                    }
                }
            }
            try? await Task.sleep(for: Self.tickInterval)
            session.tick()
        }
    }
}
