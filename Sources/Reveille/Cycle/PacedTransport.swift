import Synchronization
import WakeFetch
import WakeSystem

/// The requests of a client's checks, each at a time that nothing on this device decides: a
/// multiple of a fixed time after the answer before it. To store an answer takes longer when there
/// is a match in it, or was in one before, and an observer of the line must not learn that from the
/// time of the next request, also of the next check.
final class PacedTransport: ClientTransport {
    /// Longer than it takes, as a rule, to store an answer.
    static let step = Duration.milliseconds(100)
    /// Of the first request of a check: longer than it takes, as a rule, to record and wipe what
    /// the check before has left, and to read thousands of secrets, which takes processor time from
    /// requests. No connection is open that long.
    static let firstStep = Duration.seconds(1)

    private struct Pace {
        /// The arrival of the last bytes of an answer, by the clock of uptime; nil before the
        /// first.
        var lastArrival: Duration?
        /// When the check was to begin whose first request comes next; nil within a check.
        var due: Duration?
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
        await waitForStep()
        // On the fetch thread: the client's own queue may be late.
        return try await transport.fetch(
            request,
            onHead: { response in
                self.noteArrival()
                return onHead(response)
            },
            sink: { bytes in
                self.noteArrival()
                return sink(bytes)
            })
    }

    func quiesce(_ purpose: FetchPurpose) async { await transport.quiesce(purpose) }

    private func noteArrival() {
        let now = environment.uptime()
        pace.withLock { $0.lastArrival = now }
    }

    private func waitForStep() async {
        let (start, step) = pace.withLock { pace -> (Duration?, Duration) in
            guard let due = pace.due.take() else { return (pace.lastArrival, Self.step) }
            return (max(due, pace.lastArrival ?? due), Self.firstStep)
        }
        guard let start else { return }
        let now = environment.uptime()
        let steps = Int(max(.zero, now - start) / step) + 1
        await environment.sleep(start + step * steps - now)
    }
}
