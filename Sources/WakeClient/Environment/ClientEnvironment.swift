internal import Dispatch
import Synchronization
package import WakeFetch
import WakeModel
private import WakeSodium
import WakeSystem

/// The client's way to the outside: a network, two clocks, sleep and randomness.
public struct ClientEnvironment: Sendable {
    package var transport: @Sendable (FetchConfiguration) throws(FetchError) -> any ClientTransport
    /// Seconds since 1970; may jump.
    package var wallSeconds: @Sendable () -> Int64
    /// Time that only grows, also while the machine sleeps.
    package var uptime: @Sendable () -> Duration
    /// Returns early when its task is cancelled.
    package var sleep: @Sendable (Duration) async -> Void
    /// Evenly distributed in [0, 1).
    package var randomUnit: @Sendable () -> Double
    /// Fit for secrets.
    package var randomBytes: @Sendable (Int) -> [UInt8]
    package var executor: @Sendable () -> any SerialExecutor
    /// Lets the process die in tests; nil outside them.
    var faultPoint: StateDatabase.FaultPoint?
    /// Receives everything that is logged.
    public var log: @Sendable (ClientEvent) -> Void = { _ in }

    /// The system: libcurl, the kernel's clocks and randomness. Logs nothing.
    public static let live = ClientEnvironment(
        transport: { (configuration) throws(FetchError) in try Fetcher(configuration) },
        wallSeconds: { Int64(SystemClock.wallSeconds) },
        uptime: { .nanoseconds(Int64(SystemClock.bootNanoseconds)) },
        sleep: { duration in try? await Task.sleep(for: duration, clock: .continuous) },
        randomUnit: { SystemRandom.unit() },
        randomBytes: { Sodium.random($0) },
        executor: { QueueExecutor() })

    /// - Throws: `configuration(.libraryMissing)` or `configuration(.proxy)`.
    func makeTransport(
        through proxy: ClientConfiguration.Proxy?
    ) throws(ClientError) -> any ClientTransport {
        var configuration = FetchConfiguration()
        if let proxy {
            // New for every start: circuits of two profiles, or two days, are never joined.
            let isolation = Base64URL.encode(randomBytes(16).span)
            configuration.proxy = FetchProxy(
                host: proxy.host, port: proxy.port, isolation: isolation)
            // A proxy that cannot be used is never passed by.
            guard configuration.proxy != nil else { throw .configuration(.proxy) }
        }
        return try mapError(ClientError.init) { () throws(FetchError) in
            try transport(configuration)
        }
    }

    func newInstanceToken() -> InstanceToken {
        while true {
            var bytes = randomBytes(InstanceToken.byteCount)
            defer { bytes.wipe() }
            // Fewer than 8 distinct bytes happen once in 2^130.
            if let token = InstanceToken(bytes) { return token }
        }
    }

    /// The wait until a time of the wall clock: 1 s to 1 h, because that clock may be set.
    func wait(until time: Int64?) -> Duration? {
        time.map { .seconds(min(max($0 - wallSeconds(), 1), 3600)) }
    }
}

/// A carrier of requests: libcurl, or a simulated network in tests.
package protocol ClientTransport: Sendable {
    /// As `Fetcher.fetch`.
    func fetch(
        _ request: FetchRequest,
        onHead: @escaping @Sendable (FetchResponse) -> FetchVerdict,
        sink: @escaping @Sendable (Span<UInt8>) -> FetchVerdict
    ) async throws(FetchError) -> FetchResponse
}

extension Fetcher: ClientTransport {}

extension ClientTransport {
    /// Fetches an answer of any status, with a body of `request.limit` bytes at most.
    func answer(
        to request: FetchRequest
    ) async throws(FetchError) -> (bytes: [UInt8], response: FetchResponse) {
        let body = BoundedBody(limit: request.limit)
        let response = try await fetch(
            request, onHead: { _ in .proceed }, sink: { body.append($0) })
        return (body.bytes, response)
    }

    /// The same; `httpStatus` for every status but 200.
    func body(
        of request: FetchRequest
    ) async throws(ClientError) -> (bytes: [UInt8], response: FetchResponse) {
        let answer: (bytes: [UInt8], response: FetchResponse)
        do {
            answer = try await self.answer(to: request)
        } catch {
            throw ClientError(error)
        }
        guard answer.response.status == 200 else {
            throw .httpStatus(answer.response.status, retryAfter: answer.response.retryAfter)
        }
        return answer
    }
}

/// Collects a body on the fetch thread, and stops at its bound.
private final class BoundedBody: Sendable {
    private let limit: Int
    private let collected = Mutex<[UInt8]>([])

    init(limit: Int) { self.limit = limit }

    func append(_ bytes: Span<UInt8>) -> FetchVerdict {
        let copy = Array(copying: bytes)
        return collected.withLock { collected in
            guard collected.count + copy.count <= limit else { return .stop }
            collected += copy
            return .proceed
        }
    }

    var bytes: [UInt8] { collected.withLock { $0 } }
}

private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "reveille.client")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

extension WakeClient {
    /// The client's own serial queue: SQLite and fsync never block the cooperative pool.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }
}
