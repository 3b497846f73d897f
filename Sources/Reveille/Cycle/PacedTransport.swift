import Synchronization
import WakeFetch
import WakeSystem

/// The requests of a client's checks, each at a time that nothing on this device decides: multiples
/// of a fixed time after the first one, and a little more, at random. An answer takes longer to
/// search where there are many secrets, and to store where there is a match in it or was in one
/// before, and an observer of the line must not learn that from the time of the next request, also
/// of the next check.
final class PacedTransport: ClientTransport {
    /// Longer than it takes, as a rule, to get an answer and to store it.
    static let step = Duration.milliseconds(100)
    /// Of the first request of a check: longer than it takes, as a rule, to record and wipe what
    /// the check before has left, and to read thousands of secrets, which takes processor time from
    /// requests. No connection is open that long.
    static let firstStep = Duration.seconds(1)
    /// The most that is added at random: a processor that has just computed is awake, and begins a
    /// request some microseconds sooner.
    static let jitter = Duration.milliseconds(20)

    /// By the clock of uptime.
    private struct Pace {
        /// The first and the last request of the check; nil before any.
        var first, last: Duration?
        /// When the check was to begin whose first request comes next; nil within a check.
        var due: Duration?

        /// The time of the next request.
        mutating func next(now: Duration) -> Duration {
            let time: Duration
            if let due = due.take() {
                time = Self.next(
                    after: now, from: max(due, last ?? due), by: PacedTransport.firstStep)
                first = time
            } else {
                time = first.map { Self.next(after: now, from: $0, by: PacedTransport.step) } ?? now
                first = first ?? time
            }
            last = time
            return time
        }

        private static func next(
            after now: Duration, from start: Duration, by step: Duration
        ) -> Duration {
            start + step * (Int(max(.zero, now - start) / step) + 1)
        }
    }

    private let transport: any ClientTransport
    private let environment: ClientEnvironment
    private let pace = Mutex(Pace())

    init(_ transport: any ClientTransport, in environment: ClientEnvironment) {
        self.transport = transport
        self.environment = environment
    }

    /// The next request is the first of a check.
    func checkBegins(due: Duration) { pace.withLock { $0.due = due } }

    func fetch(
        _ request: FetchRequest,
        onHead: @escaping @Sendable (FetchResponse) -> FetchVerdict,
        sink: @escaping @Sendable (Span<UInt8>) -> FetchVerdict
    ) async throws(FetchError) -> FetchResponse {
        let now = environment.uptime()
        let time = pace.withLock { $0.next(now: now) }
        await environment.sleep(time - now + Self.jitter * environment.randomUnit())
        return try await transport.fetch(request, onHead: onHead, sink: sink)
    }

    func quiesce(_ purpose: FetchPurpose) async { await transport.quiesce(purpose) }
}
