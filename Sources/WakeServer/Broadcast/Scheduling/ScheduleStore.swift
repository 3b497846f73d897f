import Dispatch
import Synchronization
import WakeModel
import WakePush
import WakeSystem

/// The schedule, with its history on disk: nothing is acted upon before it is written down.
final class ScheduleStore: Sendable {
    private let schedule: Mutex<BroadcastSchedule>
    private let file: StateFile<BroadcastHistory>
    /// Writing blocks: one thread of its own, on which changes come one after the other.
    private let queue = DispatchQueue(label: "broadcast-history")

    /// Reads the history; a damaged one costs an hour at most.
    /// - Parameter header: of the checkpoint that lies beside it, if there is one.
    init(path: String, heartbeatSeconds: Int?, resuming header: Checkpoint.Header?) {
        file = StateFile(path)
        let now = ClockReading.system()
        let history: BroadcastHistory?
        do throws(StateFileError) {
            history = try file.readIfPresent()
        } catch { history = .unknown(now, resuming: header) }
        var random = SystemRandomNumberGenerator()
        schedule = Mutex(
            BroadcastSchedule(
                heartbeatSeconds: heartbeatSeconds, history: history, now: now, using: &random))
    }

    var history: BroadcastHistory { schedule.withLock { $0.history } }
    var recentRuns: Int { schedule.withLock { $0.recentRuns } }

    func isNextDue(hasArrived: Bool) -> Bool {
        schedule.withLock { $0.isNextDue(.system(), hasArrived: hasArrived) }
    }

    var secondsSinceLastRun: Int? { schedule.withLock { $0.secondsSinceLastRun(.system()) } }
    var secondsToNextStart: Int? { schedule.withLock { $0.secondsToNextStart(.system()) } }

    func decide() -> BroadcastSchedule.Decision {
        var random = SystemRandomNumberGenerator()
        return schedule.withLock { $0.decide(.system(), using: &random) }
    }

    /// Changes the schedule and writes it down, on the queue.
    /// - Parameter then: gets nil when it cannot be written: then nothing has changed.
    func change<Value: Sendable>(
        _ body: @escaping @Sendable (inout BroadcastSchedule, ClockReading) -> Value,
        then: @escaping @Sendable (Value?) -> Void
    ) {
        queue.async {
            var next = self.schedule.withLock { $0 }
            let value = body(&next, .system())
            guard (try? self.file.write(next.history)) != nil else { return then(nil) }
            let changed = next
            self.schedule.withLock { $0 = changed }
            then(value)
        }
    }

    @discardableResult
    func change<Value: Sendable>(
        _ body: @escaping @Sendable (inout BroadcastSchedule, ClockReading) -> Value
    ) async -> Value? {
        await withCheckedContinuation { continuation in
            change(body) { continuation.resume(returning: $0) }
        }
    }
}
