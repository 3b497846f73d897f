import Dispatch
import Synchronization
import WakeFiles
import WakePush

/// The schedule, with its history on disk: nothing is acted upon before it is written down.
final class BroadcastDesk: Sendable {
    private let schedule: Mutex<BroadcastSchedule>
    private let path: String
    /// Writing blocks: one thread of its own, on which changes come one after the other.
    private let queue = DispatchQueue(label: "broadcast-history")

    /// Reads the history; a broken one costs an hour of patience at most.
    /// - Parameters:
    ///   - header: of the round that lies beside it, if there is one.
    init(path: String, settings: BroadcastSchedule.Settings, resuming header: RoundHeader?) {
        self.path = path
        let now = ClockReading.system()
        let history = Self.read(path, now, header)
        var random = SystemRandomNumberGenerator()
        schedule = Mutex(
            BroadcastSchedule(settings, history: history, now: now, using: &random))
    }

    private static func read(
        _ path: String, _ now: ClockReading, _ header: RoundHeader?
    ) -> BroadcastHistory? {
        do throws(FileError) {
            let bytes = try Files.read(path, limit: BroadcastHistory.byteLimit)
            do throws(BroadcastHistoryError) {
                return try BroadcastHistory(decoding: bytes, now: now)
            } catch {
                return .unknown(now, resuming: header)
            }
        } catch {
            return error.isMissing ? nil : .unknown(now, resuming: header)
        }
    }

    var history: BroadcastHistory { schedule.withLock { $0.history } }

    /// For status: when the next broadcast starts if nothing else happens.
    var nextStart: BroadcastSchedule.NextStart? {
        schedule.withLock { $0.nextStart(.system()) }
    }

    func decide() -> BroadcastSchedule.Decision {
        var random = SystemRandomNumberGenerator()
        return schedule.withLock { $0.decide(.system(), using: &random) }
    }

    /// Changes the schedule and writes it down, on the queue.
    /// - Returns: nil when it cannot be written: then nothing has changed.
    func change<Value: Sendable>(
        _ body: @escaping @Sendable (inout BroadcastSchedule, ClockReading) -> Value,
        then: @escaping @Sendable (Value?) -> Void
    ) {
        queue.async {
            var next = self.schedule.withLock { $0 }
            let value = body(&next, .system())
            guard self.write(next.history) else { return then(nil) }
            let changed = next
            self.schedule.withLock { $0 = changed }
            then(value)
        }
    }

    func change<Value: Sendable>(
        _ body: @escaping @Sendable (inout BroadcastSchedule, ClockReading) -> Value
    ) async -> Value? {
        await withCheckedContinuation { continuation in
            change(body) { continuation.resume(returning: $0) }
        }
    }

    private func write(_ history: BroadcastHistory) -> Bool {
        let bytes = history.encode()
        do throws(FileError) {
            try Files.replace(path, with: bytes.span)
            return true
        } catch {
            return false
        }
    }
}
