import Synchronization
import WakeFetch
import WakeModel

/// Between the fetch thread that receives the event stream and the client: keeps the newest wake
/// and nothing else, however many come.
final class WakeInbox: Sendable {
    /// Bytes of one connection; then the client reconnects. A year of keep-alives is 1 MiB.
    static let limit = 64 << 20

    private struct State {
        var reader = WakeEventReader()
        var isConnected = false
        var refusedRetryAfter: Int?
    }

    private let state = Mutex(State())
    private let events: AsyncStream<WakeEvent>
    private let sender: AsyncStream<WakeEvent>.Continuation

    init() {
        // A newer wake carries a newer hint: older ones may be dropped.
        (events, sender) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func begin(_ response: FetchResponse) -> FetchVerdict {
        state.withLock { state in
            state.isConnected = response.status == 200 && response.contentType == .eventStream
            state.refusedRetryAfter = response.retryAfter
            return state.isConnected ? .proceed : .stop
        }
    }

    func take(_ piece: Span<UInt8>) -> FetchVerdict {
        let bytes = Array(copying: piece)
        let events = state.withLock { state in try? state.reader.append(bytes.span) }
        guard let events else { return .stop }
        for event in events { sender.yield(event) }
        return .proceed
    }

    func close() {
        sender.finish()
    }

    /// The next wake; nil at the end of the stream.
    func next() async -> WakeEvent? {
        for await event in events { return event }
        return nil
    }

    /// Whether the server answered as the protocol says.
    var isConnected: Bool { state.withLock { $0.isConnected } }

    var refusedRetryAfter: Int? { state.withLock { $0.refusedRetryAfter } }

    /// What the server asks to wait before reconnecting.
    var retry: Duration? {
        state.withLock { $0.reader.retryMilliseconds }.map { .milliseconds(max(0, $0)) }
    }
}
