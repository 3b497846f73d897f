import Synchronization

/// Fetches over HTTPS through libcurl: bounded, abortable, and with nothing in a request that would
/// tell one client from another. No redirects, cookies, caches, content decoding, `.netrc`, HSTS or
/// Alt-Svc; TLS 1.2 or newer with the peer and its name verified; HTTP/1.1.
///
/// Transfers run on one thread a purpose (see ``FetchPurpose``), never on the cooperative pool. How
/// many run at once is up to the callers; more than 256 connections a purpose wait for each other.
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
        try settings.check(request)
        guard !Task.isCancelled else { throw .cancelled }
        let lane = lanes[Int(request.purpose.rawValue)]
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        let ticket = FetchTicket()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                lane.start(
                    FetchJob(
                        id: id, request: request, onHead: onHead, sink: sink, ticket: ticket,
                        continuation: continuation))
            }
        } onCancel: {
            ticket.cancel()
            lane.cancel(id)
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

    /// Ends what runs as `closed`, and the threads. Later fetches are refused as `closed`.
    package func close() async {
        for lane in lanes { lane.beginClosing() }
        for lane in lanes { await lane.close() }
    }
}

/// Collects what a sink is given.
private final class FetchedBody: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    func append(_ chunk: Span<UInt8>) -> FetchVerdict {
        // A closure cannot capture a span, hence the copy before the lock.
        var copy: [UInt8] = []
        copy.reserveCapacity(chunk.count)
        for index in chunk.indices { copy.append(chunk[index]) }
        bytes.withLock { $0 += copy }
        return .proceed
    }

    func take() -> [UInt8] {
        bytes.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
    }
}
