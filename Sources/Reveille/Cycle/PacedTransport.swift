import Synchronization
import WakeFetch
import WakeSystem

/// The requests of one check, each a multiple of a fixed time after the answer before it. To store
/// an answer takes longer when there is a match in it, or was in one before, and who sees the line
/// must not learn that from the time of the next request.
final class PacedTransport: ClientTransport {
    /// Longer than it takes, as a rule, to store an answer.
    static let step = Duration.milliseconds(50)

    private let transport: any ClientTransport
    private let environment: ClientEnvironment
    /// The arrival of the last bytes of an answer, by the clock of uptime; nil before the first.
    private let lastArrival = Mutex<Duration?>(nil)

    init(_ transport: any ClientTransport, in environment: ClientEnvironment) {
        self.transport = transport
        self.environment = environment
    }

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
        lastArrival.withLock { $0 = now }
    }

    private func waitForStep() async {
        guard let last = lastArrival.withLock({ $0 }) else { return }
        let now = environment.uptime()
        let steps = Int(max(.zero, now - last) / Self.step) + 1
        await environment.sleep(last + Self.step * steps - now)
    }
}
