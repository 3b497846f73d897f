import Synchronization
import WakeModel
import WakePush
import WakeSystem

/// The topics of a broadcast run, one after the other at an even pace, beside the scan.
final class TopicRun: Sendable {
    private struct State {
        var sent: Int
        var uncertain = 0
        /// The last one; of one that may pass, until the next message is accepted.
        var failure: GatewayFailure?
        var isReported = false
        var isOver = false
    }

    private enum Outcome {
        case accepted
        case uncertain
        case failed(GatewayFailure)
    }

    private let topics: FCMTopics
    private let retryInterval: Duration
    private let state: Mutex<State>

    private static let tickInterval = Duration.milliseconds(50)

    /// - Parameters:
    ///   - sent: topics whose message was accepted before a restart.
    ///   - retryInterval: between two attempts while FCM cannot be used.
    init?(_ gateways: [any Gateway], sent: UInt64, retryInterval: Duration) {
        guard let topics = gateways.lazy.compactMap(\.topics).first else { return nil }
        self.topics = topics
        self.retryInterval = retryInterval
        state = Mutex(State(sent: Int(min(sent, UInt64(topics.names.count)))))
    }

    var isOver: Bool { state.withLock { $0.isOver } }
    /// Whether it waits for nothing but its own pace.
    var isSending: Bool { state.withLock { !$0.isOver && $0.failure == nil } }

    /// What keeps it from sending, for the operator.
    var message: String? { state.withLock { $0.failure?.message } }

    /// Adds what happened since the last call.
    /// - Returns: a failure that was not reported before.
    func update(_ counters: inout RunCounters) -> GatewayFailure? {
        state.withLock { state in
            counters.topics = UInt64(state.sent)
            counters.uncertain += UInt64(state.uncertain)
            state.uncertain = 0
            guard (state.failure != nil) != state.isReported else { return nil }
            state.isReported = state.failure != nil
            return state.failure
        }
    }

    /// Sends to all that are left, until a failure that does not pass or the task is cancelled.
    func run(lifetime: Int) async {
        var due = ContinuousClock.now
        // The next broadcast must not wait for this one.
        let interval = min(topics.interval, .seconds(lifetime) / (2 * topics.names.count))
        var index = state.withLock { $0.sent }
        while index < topics.names.count {
            try? await Task.sleep(until: due)
            // After a wait the rest does not come at once.
            due = max(due, .now) + interval
            guard !Task.isCancelled, let outcome = await send(index, lifetime) else { return }
            switch outcome {
            case .accepted:
                state.withLock { ($0.sent, $0.failure) = ($0.sent + 1, nil) }
                index += 1
            case .uncertain:
                // One more could wake everybody twice.
                fail(.unavailable(.unreachable, .fcm))
                return state.withLock { $0.isOver = true }
            case .failed(let failure):
                fail(failure)
                guard failure.mayPass else { return state.withLock { $0.isOver = true } }
                due = .now + retryInterval
            }
        }
        state.withLock { $0.isOver = true }
    }

    private func fail(_ failure: GatewayFailure) { state.withLock { $0.failure = failure } }

    /// Sends one message; nil when the task was cancelled.
    private func send(_ index: Int, _ lifetime: Int) async -> Outcome? {
        let reports = Mailbox<GatewayReport> {}
        let session = topics.open(lifetime: lifetime) { reports.post($0) }
        defer { session.cancel() }
        session.send([WakeUp(reference: index, token: topics.names[index])])
        session.flush(isFinal: true)
        while !Task.isCancelled {
            for report in reports.take() {
                switch report {
                case .retried, .deferred, .delayed: continue
                case .uncertain(let count): state.withLock { $0.uncertain += count }
                case .failed(let failure): return .failed(failure)
                case .completed(let results):
                    switch results.first?.delivery {
                    case .accepted: return .accepted
                    case .retry(.connectionFault): return .uncertain
                    default: return .failed(.unavailable(.pushback, .fcm))
                    }
                }
            }
            try? await Task.sleep(for: Self.tickInterval)
            session.tick()
        }
        return nil
    }
}
