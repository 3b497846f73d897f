import Synchronization
import WakeSystem

/// An HTTPS client on libcurl: bounded, abortable, and with nothing in a request that distinguishes
/// clients. No redirects, cookies, caches, content decoding, `.netrc`, HSTS or Alt-Svc; TLS 1.2 or
/// newer with the peer and its name verified; HTTP/1.1, or HTTP/2 for requests that allow it.
/// Transfers run on one thread per purpose (see ``FetchPurpose``). Requests beyond the bounds of
/// ``FetchConfiguration`` wait in a queue; their timeouts begin when they are started.
package final class Fetcher: Sendable {
    private let workers: [FetchWorker]
    private let settings: FetchSettings
    private let lastID = Atomic<UInt64>(0)

    /// - Throws: `libraryMissing` if libcurl cannot be loaded.
    package init(_ configuration: FetchConfiguration) throws(FetchError) {
        let settings = try FetchSettings(configuration)
        self.settings = settings
        workers = FetchPurpose.allCases.map { _ in FetchWorker(settings: settings) }
    }

    deinit {
        for worker in workers { worker.beginClosing() }
    }

    /// Fetches `request`; returns at the end of the body. `onHead` is called once, before the first
    /// byte of body, and `sink` with consecutive chunks of at most 64 KiB; `.stop` ends the fetch
    /// as `stopped`. Both run on the purpose's thread and block its other fetches, and thereby the
    /// sender: a slow sink costs no memory. A status other than 2xx is no error: at most 4 KiB (or
    /// `limit`, if less) of its body reach the sink, and a failure after its head is ignored.
    /// - Throws: `cancelled` within milliseconds of the task's cancellation.
    package func fetch(
        _ request: FetchRequest,
        onHead: @escaping @Sendable (FetchResponse) -> FetchVerdict = { _ in .proceed },
        sink: @escaping @Sendable (Span<UInt8>) -> FetchVerdict
    ) async throws(FetchError) -> FetchResponse {
        guard !Task.isCancelled else { throw .cancelled }
        let handle = handle(for: request)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                begin(request, handle, onHead: onHead, sink: sink) {
                    continuation.resume(returning: $0)
                }
            }
        } onCancel: {
            handle.cancel()
        }
        return try result.get()
    }

    /// Fetches a whole body into memory, which `limit` bounds.
    package func collect(
        _ request: FetchRequest
    ) async throws(FetchError) -> (FetchResponse, [UInt8]) {
        let body = FetchedBody()
        let response = try await fetch(request, sink: { body.append($0) })
        return (response, body.remove())
    }

    /// Starts a fetch that collects its body, without a task. `then` is called once: on the
    /// purpose's thread, which it blocks, or before this returns if the fetch is refused; it may
    /// start other fetches. The handle cancels it; releasing the handle changes nothing.
    @discardableResult
    package func start(
        _ request: FetchRequest,
        then: @escaping @Sendable (Result<(FetchResponse, [UInt8]), FetchError>) -> Void
    ) -> FetchHandle {
        let handle = handle(for: request)
        let body = FetchedBody()
        begin(request, handle, onHead: { _ in .proceed }, sink: { body.append($0) }) { result in
            then(result.map { ($0, body.remove()) })
        }
        return handle
    }

    /// Ends running fetches as `closed`, and the threads. Later fetches are refused as `closed`.
    package func close() async {
        for worker in workers { worker.beginClosing() }
        for worker in workers { await worker.close() }
    }

    /// Returns when the purpose has no fetch and no connection: `idleTime` after its last fetch.
    package func quiesce(_ purpose: FetchPurpose) async {
        await workers[Int(purpose.rawValue)].quiesce()
    }

    private func handle(for request: FetchRequest) -> FetchHandle {
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        return FetchHandle(id: id, worker: workers[Int(request.purpose.rawValue)])
    }

    private func begin(
        _ request: FetchRequest, _ handle: FetchHandle,
        onHead: @escaping @Sendable (FetchResponse) -> FetchVerdict,
        sink: @escaping @Sendable (Span<UInt8>) -> FetchVerdict,
        onEnd: @escaping @Sendable (Result<FetchResponse, FetchError>) -> Void
    ) {
        do throws(FetchError) {
            try settings.check(request)
        } catch {
            return onEnd(.failure(error))
        }
        handle.worker.start(
            FetchJob(
                id: handle.id, request: request, cancellation: handle.cancellation,
                onHead: onHead, sink: sink, onEnd: onEnd))
    }
}

/// A started fetch, to cancel it.
package struct FetchHandle: Sendable {
    fileprivate let id: UInt64
    fileprivate let cancellation = CancellationFlag()
    fileprivate let worker: FetchWorker

    /// Ends the fetch as `cancelled` within milliseconds, unless it has ended; from any thread.
    package func cancel() {
        cancellation.set()
        worker.cancel(id)
    }
}

/// A cancellation flag, read before every callback: a cancellation may overtake its job.
final class CancellationFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }
}

/// A buffer for the chunks of one body.
private final class FetchedBody: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    func append(_ chunk: Span<UInt8>) -> FetchVerdict {
        // A closure cannot capture a span, hence the copy before the lock.
        let copy = Array(copying: chunk)
        bytes.withLock { $0 += copy }
        return .proceed
    }

    func remove() -> [UInt8] {
        bytes.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
    }
}
