import Synchronization

/// Fetches over HTTPS through libcurl: bounded, abortable, and with nothing in a request that would
/// tell one client from another. No redirects, cookies, caches, content decoding, `.netrc`, HSTS or
/// Alt-Svc; TLS 1.2 or newer with the peer and its name verified; HTTP/1.1, or HTTP/2 for requests
/// that allow it.
///
/// Transfers run on one thread a purpose (see ``FetchPurpose``), never on the cooperative pool. How
/// many are started is up to the callers; beyond the bounds of ``FetchConfiguration`` they wait for
/// each other, and the time of a request begins when its turn has come.
package final class Fetcher: Sendable {
    private let lanes: [FetchLane]
    private let settings: FetchSettings
    private let lastID = Atomic<UInt64>(0)

    /// Throws `libraryMissing` if libcurl cannot be loaded.
    package init(_ configuration: FetchConfiguration) throws(FetchError) {
        let settings = try FetchSettings(configuration)
        self.settings = settings
        lanes = FetchPurpose.allCases.map { _ in FetchLane(settings: settings) }
    }

    deinit {
        for lane in lanes { lane.beginClosing() }
    }

    /// Fetches `request`, handing the body over as it comes.
    ///
    /// Both callbacks run on the purpose's fetch thread and hold up the other fetches of that
    /// purpose, and thereby the sender: a slow sink costs no memory.
    ///
    /// A status other than 2xx is no error. Of the body that comes with one, at most 4 KiB (or
    /// `limit`, if less) reach the sink; the rest is cut off, and whatever goes wrong after its
    /// head changes nothing. Whoever stores a body looks at the status in `onHead` first.
    ///
    /// - Parameters:
    ///   - onHead: called once, before the first byte of body; `.stop` ends the fetch as `stopped`.
    ///   - sink: called with each piece of body in order, at most 64 KiB at once; `.stop` ends the
    ///     fetch as `stopped` before the next piece.
    /// - Returns: the head, once the body has come to its end.
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

    /// Fetches a small body whole; `limit` bounds the memory it takes.
    package func collect(
        _ request: FetchRequest
    ) async throws(FetchError) -> (FetchResponse, [UInt8]) {
        let body = FetchedBody()
        let response = try await fetch(request, sink: { body.append($0) })
        return (response, body.take())
    }

    /// Starts a fetch whose small body is collected, without a task for it.
    ///
    /// - Parameter then: called once, whatever happens: on the purpose's fetch thread, which it
    ///   holds up, or before this returns if the fetch is refused at once. It may start others.
    /// - Returns: what ends it early. Letting go of it changes nothing.
    @discardableResult
    package func start(
        _ request: FetchRequest,
        then: @escaping @Sendable (Result<(FetchResponse, [UInt8]), FetchError>) -> Void
    ) -> FetchHandle {
        let handle = handle(for: request)
        let body = FetchedBody()
        begin(request, handle, onHead: { _ in .proceed }, sink: { body.append($0) }) { result in
            then(result.map { ($0, body.take()) })
        }
        return handle
    }

    /// Ends what runs as `closed`, and the threads. Later fetches are refused as `closed`.
    package func close() async {
        for lane in lanes { lane.beginClosing() }
        for lane in lanes { await lane.close() }
    }

    private func handle(for request: FetchRequest) -> FetchHandle {
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        return FetchHandle(id: id, lane: lanes[Int(request.purpose.rawValue)])
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
        handle.lane.start(
            FetchJob(
                id: handle.id, request: request, ticket: handle.ticket, onHead: onHead,
                sink: sink, onEnd: onEnd))
    }
}
