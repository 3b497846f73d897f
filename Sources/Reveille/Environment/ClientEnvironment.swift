import Synchronization
package import WakeFetch
import WakeModel
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
    package var resumes: ResumeNotifier
    /// Evenly distributed in [0, 1).
    package var randomUnit: @Sendable () -> Double
    /// Fit for secrets.
    package var randomBytes: @Sendable (Int) -> [UInt8]
    package var executor: @Sendable () -> any SerialExecutor
    /// A new thread of its own for each part of the app that the client calls.
    package var appExecutor: @Sendable () -> any TaskExecutor
    /// What runs the parts of a client that no actor runs; nil for that of the calling task.
    package var taskExecutor: (any TaskExecutor)?
    /// Learns of the app's work for the client: 1 when some begins, -1 when it ends.
    package var appWork: @Sendable (Int) -> Void = { _ in }
    /// Receives everything that is logged.
    public var log: @Sendable (ClientLogEvent) -> Void = { _ in }

    /// The system: libcurl, the kernel's clocks and randomness. Logs nothing.
    public static let live = ClientEnvironment(
        transport: { (configuration) throws(FetchError) in try Fetcher(configuration) },
        wallSeconds: { Int64(SystemClock.wallSeconds) },
        uptime: { .nanoseconds(Int64(SystemClock.bootNanoseconds)) },
        sleep: { await SystemClock.sleep(for: $0) },
        resumes: .system, randomUnit: { SystemRandom.unit() },
        randomBytes: { Sodium.random($0) },
        executor: { ClientQueue() }, appExecutor: { AppQueue() })

    /// The time after the last request began after which connections are closed, whatever came.
    static let linger = Duration.milliseconds(500)

    /// The same, which also signals for everything that is logged.
    func signalling(_ change: ChangeSignal) -> ClientEnvironment {
        var copy = self
        copy.log = { [log] logged in
            log(logged)
            change.signal()
        }
        return copy
    }

    /// - Throws: `configuration(.libraryMissing)` or `configuration(.proxy)`.
    func makeTransport(
        through proxy: ClientConfiguration.Proxy?
    ) throws(ClientError) -> any ClientTransport {
        var configuration = FetchConfiguration(idleTime: Self.linger)
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

/// The way in which a client learns that the machine has slept: connections may be dead by then,
/// and what was due meanwhile is late.
package struct ResumeNotifier: Sendable {
    /// Ends the notifications.
    package typealias Stop = @Sendable () -> Void

    /// Calls back after every sleep of the machine, on any thread.
    package var start: @Sendable (_ onResume: @escaping @Sendable () -> Void) -> Stop

    package init(
        start: @escaping @Sendable (_ onResume: @escaping @Sendable () -> Void) -> Stop
    ) {
        self.start = start
    }

    /// By the kernel. Where that does not say so, polls notice it within a quarter of an hour.
    package static let system = ResumeNotifier { onResume in
        let monitor = try? SuspendMonitor(onResume: onResume)
        return { monitor?.close() }
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

    /// Returns when no connection of the purpose is open any more: some time after the last
    /// request, the same whatever it brought.
    func quiesce(_ purpose: FetchPurpose) async
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
            throw .httpStatus(
                answer.response.status,
                retryAfter: answer.response.retryAfter.map { .seconds($0) })
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
