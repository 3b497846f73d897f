import FoundationEssentials
import Synchronization
import WakeFetch
import WakeSystem

/// Requests for the published data of an app's own `DataSource`, as the client makes those for its
/// feed: no identifier, cookie, language, version or conditional field, no redirect, no cache, no
/// connection that anything else shares; https alone, except on loopback and for onion services;
/// never more bytes than were asked for, nor more a day than allowed.
///
/// ```swift
/// let fetch = try PrivateFetch(proxy: configuration.proxy, dailyByteBudget: 1 << 20)
/// let list = try await fetch.bytes(from: "https://shop.example/recalls", limit: 65_536)
/// ```
///
/// What it cannot hide is what the app asks for: ask for the same on every device. Requests begin a
/// multiple of 50 ms after the answer before them, so that nobody sees how long a check took.
/// Requests are made one at a time; further callers wait.
public actor PrivateFetch {
    private let transport: any ClientTransport
    private let environment: ClientEnvironment
    private let isProxied: Bool
    private var meter: ByteMeter?
    private var isBusy = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    /// Requests through a proxy, if one is given, and through nothing else then.
    /// - Parameters:
    ///   - proxy: the only way out. The requests have a circuit of their own.
    ///   - dailyByteBudget: bytes of bodies a day (UTC), at least 262,144; nil for no limit.
    ///   - meterFile: a file of the app's, for its owner alone, that keeps the count across
    ///     restarts; nil counts in this process.
    ///   - environment: the clock, and in tests the network.
    /// - Throws: `configuration`.
    public init(
        proxy: ClientConfiguration.Proxy? = nil, dailyByteBudget: Int? = nil,
        meterFile: String? = nil, environment: ClientEnvironment = .live
    ) throws(ClientError) {
        if let dailyByteBudget, dailyByteBudget < DailyQuota.least {
            throw .configuration(.dailyByteBudget)
        }
        isProxied = proxy != nil
        self.environment = environment
        transport = PacedTransport(
            try environment.makeTransport(through: proxy), in: environment)
        meter = dailyByteBudget.map { ByteMeter(limit: $0, file: meterFile) }
    }

    /// Fetches a whole resource.
    /// - Parameters:
    ///   - url: https; http on loopback and for onion services.
    ///   - limit: bytes that it may have.
    /// - Throws: `tooLarge` when it has more; `network`, `tls`, `httpStatus`, `truncated`,
    ///   `protocolViolation` or `cancelled`; `metered` when the day's bytes do not suffice for
    ///   `limit`; `configuration(.feedURL)` for another URL.
    public func bytes(from url: String, limit: Int) async throws(ClientError) -> [UInt8] {
        try await bytes(from: url, PartialBody(0..<limit, isPart: false))
    }

    /// Fetches a part of a resource: what was appended since, or a piece of a large one.
    /// - Parameters:
    ///   - url: as for a whole resource.
    ///   - range: the bytes that are wanted. Those before them are read and dropped when the server
    ///     sends them, those after them never read.
    /// - Returns: the bytes; fewer than the range has at the end of the resource, none beyond it.
    /// - Throws: as for a whole resource, but not `tooLarge`.
    public func bytes(
        from url: String, in range: Range<Int>
    ) async throws(ClientError) -> [UInt8] {
        guard !range.isEmpty else { return [] }
        return try await bytes(from: url, PartialBody(range, isPart: true))
    }

    private func bytes(from url: String, _ body: PartialBody) async throws(ClientError) -> [UInt8] {
        let request = try request(url, body)
        await begin()
        defer { end() }
        guard !Task.isCancelled else { throw .cancelled }
        try reserve(body.range.count)
        body.bound(meter?.spare)
        defer { meter?.charge(reserved: body.range.count, received: body.received, now: now) }
        return try await fetch(request, into: body)
    }

    /// Returns when no connection is open any more, some time after the last answer.
    public func closeConnections() async { await transport.quiesce(.feed) }

    private func request(
        _ url: String, _ body: PartialBody
    ) throws(ClientError) -> FetchRequest {
        guard let url = try? FetchURL(url) else { throw .configuration(.feedURL) }
        if url.reach == .onion, !isProxied { throw .configuration(.proxy) }
        // Of a part the body itself is the bound: a server may send everything.
        var request = FetchRequest(
            url, limit: body.isPart ? .max : body.range.count, purpose: .feed)
        if body.isPart {
            request.range = UInt64(body.range.lowerBound)
            request.rangeEnd = UInt64(body.range.upperBound - 1)
        }
        return request
    }

    private func fetch(
        _ request: FetchRequest, into body: PartialBody
    ) async throws(ClientError) -> [UInt8] {
        let response: FetchResponse
        do throws(FetchError) {
            response = try await transport.fetch(
                request, onHead: { body.begin($0) }, sink: { body.append($0) })
        } catch {
            switch (error, body.end) {
            case (.stopped, .complete?): return body.bytes
            case (.stopped, .failed(let failure)?): throw failure
            default: throw ClientError(error)
            }
        }
        switch response.status {
        case 200, 206: return body.bytes
        // RFC 9110 §15.5.17: there is nothing in that range.
        case 416 where body.isPart: return []
        default:
            throw .httpStatus(
                response.status, retryAfter: response.retryAfter.map { .seconds($0) })
        }
    }

    // MARK: One at a time

    private func begin() async {
        guard isBusy else {
            isBusy = true
            return
        }
        await withCheckedContinuation { waiters.append($0) }
    }

    private func end() {
        if waiters.isEmpty { isBusy = false } else { waiters.removeFirst().resume() }
    }

    // MARK: Bytes of the day

    private var now: Int64 { environment.wallSeconds() }

    private func reserve(_ count: Int) throws(ClientError) {
        guard var next = meter else { return }
        try next.reserve(count, now: now)
        meter = next
    }
}

/// The bytes of a body that are wanted, as they come.
private final class PartialBody: Sendable {
    enum End: Sendable {
        case complete
        case failed(ClientError)
    }

    private struct State {
        /// Bytes that are still to be dropped.
        var rest = 0
        var dropped = 0
        var received = 0
        var bytes: [UInt8] = []
        var isWanted = false
        var end: End?
        var spare: (bytes: Int, error: ClientError)?
    }

    let range: Range<Int>
    let isPart: Bool
    private let state = Mutex(State())

    init(_ range: Range<Int>, isPart: Bool) {
        self.range = range
        self.isPart = isPart
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    /// Bytes that came, also those that were dropped.
    var received: Int { state.withLock { $0.received } }
    var end: End? { state.withLock { $0.end } }

    /// Bytes that may be dropped today, and the error when more come.
    func bound(_ spare: (bytes: Int, error: ClientError)?) {
        state.withLock { $0.spare = spare }
    }

    func begin(_ response: FetchResponse) -> FetchVerdict {
        state.withLock { state in
            state.isWanted = response.status == 200 || response.status == 206
            // A part begins where it was asked for: the transport refuses any other.
            state.rest = response.status == 206 ? 0 : range.lowerBound
            return .proceed
        }
    }

    func append(_ bytes: Span<UInt8>) -> FetchVerdict {
        let copy = Array(copying: bytes)
        return state.withLock { state in
            state.received += copy.count
            guard state.isWanted else { return .proceed }
            let dropped = min(state.rest, copy.count)
            state.rest -= dropped
            state.dropped += dropped
            if let spare = state.spare, state.dropped > spare.bytes {
                state.end = .failed(spare.error)
                return .stop
            }
            let room = range.count - state.bytes.count
            state.bytes += copy.dropFirst(dropped).prefix(room)
            guard isPart, state.bytes.count == range.count else { return .proceed }
            state.end = .complete
            return .stop
        }
    }
}

/// The bytes of one day (UTC): counted before they are fetched, so that a crash forgets none.
private struct ByteMeter {
    private static let secondsADay: Int64 = 86_400

    private let limit: Int
    private let file: String?
    private var day: Int64 = .min
    private var bytes = 0

    init(limit: Int, file: String?) {
        self.limit = limit
        self.file = file
        guard let file, let text = try? Files.readPrivate(file, limit: 64) else { return }
        let parts = String(decoding: text, as: UTF8.self).split(separator: " ")
        guard parts.count == 2, let day = Int64(parts[0]), let bytes = Int(parts[1]) else { return }
        (self.day, self.bytes) = (day, max(0, bytes))
    }

    /// The rest of the day.
    var spare: (bytes: Int, error: ClientError) {
        (
            limit - min(bytes, limit),
            .metered(until: Date(seconds: (day + 1) * Self.secondsADay))
        )
    }

    mutating func reserve(_ count: Int, now: Int64) throws(ClientError) {
        advance(to: now)
        guard count <= spare.bytes else { throw spare.error }
        bytes += count
        try save()
    }

    mutating func charge(reserved: Int, received: Int, now: Int64) {
        let before = day
        advance(to: now)
        bytes = (day == before ? max(0, bytes - reserved) : 0) + received
        // What cannot be given back stays counted.
        try? save()
    }

    /// A clock that was set back refills nothing, and one that was ahead delays nothing.
    private mutating func advance(to now: Int64) {
        let (quotient, rest) = now.quotientAndRemainder(dividingBy: Self.secondsADay)
        let today = rest < 0 ? quotient - 1 : quotient
        if today > day { (day, bytes) = (today, 0) }
        if today < day - 1 { day = today }
    }

    private func save() throws(ClientError) {
        guard let file else { return }
        do throws(FileError) {
            try Files.replace(file, with: Array("\(day) \(bytes)".utf8).span)
        } catch { throw .diskFull }
    }
}
