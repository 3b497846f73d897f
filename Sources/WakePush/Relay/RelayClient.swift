import Synchronization
import WakeFetch
import WakeModel
import WakeSystem

/// The HTTP client of a relay: sends one batch, signed, and delivers the response as it arrives.
struct RelayClient: Sendable {
    private let url: FetchURL
    private let authority: [UInt8]
    private let key: RelayKey
    private let fetcher: Fetcher
    private let clock: TimeSource

    /// Bytes: a line for each wake-up, one for a stopped gateway, the last.
    private static let responseLimit = RelayLine.maximumBytes * (RelayBatch.maximumWakes + 2)
    /// Seconds of silence that end a response: more than ``Limits/relaySeconds``.
    private static let silence = 330
    /// Seconds for one response, however slowly it arrives.
    private static let longest = 1800

    /// - Throws: `libraryMissing` when libcurl cannot be loaded.
    init(
        _ configuration: RelayConfiguration, _ key: RelayKey, _ clock: TimeSource
    ) throws(FetchError) {
        url = try configuration.url.appending(String(RelayRequest.path.description.dropFirst()))
        authority = configuration.authority
        self.key = key
        self.clock = clock
        fetcher = try Fetcher(FetchConfiguration(caFile: configuration.authorityFile))
    }

    /// Calls `onLines` for the bytes of a response of lines.
    func send(
        _ batch: RelayBatch, onLines: @escaping @Sendable (Span<UInt8>) -> FetchVerdict
    ) async -> RelayResult {
        let reply = RelayReply()
        do throws(FetchError) {
            let response = try await fetcher.fetch(
                request(batch),
                onHead: { response in
                    reply.begin(response, wall: clock.wallSeconds())
                    return .proceed
                },
                sink: { bytes in
                    if reply.isLines { return onLines(bytes) }
                    reply.append(bytes.array)
                    return .proceed
                })
            return reply.isLines ? .completed : .refused(reply.refusal(response))
        } catch { return RelayResult(error, hasHead: reply.hasBegun) }
    }

    private func request(_ batch: RelayBatch) -> FetchRequest {
        let body = batch.body()
        let signed = RelayRequest(
            body: body.span, authority: authority, key: key.signingKey,
            created: Int(clock.wallSeconds()), nonce: .random())
        return FetchRequest(
            url, method: .post, fields: signed.fields.map { FetchField($0.name, $0.value) },
            body: body, limit: Self.responseLimit,
            timeout: FetchTimeout(
                connect: .seconds(10), total: .seconds(Self.longest),
                throughput: .idle(.seconds(Self.silence))),
            purpose: .gateway)
    }
}

/// The state of a response whose kind its head decides.
private final class RelayReply: Sendable {
    private let state = Mutex((status: Int?.none, clockDifference: Int?.none, body: [UInt8]()))

    /// - Parameter wall: seconds since 1970.
    func begin(_ response: FetchResponse, wall: Int64) {
        state.withLock { state in
            state.status = response.status
            state.clockDifference = response.date.map { Int($0 - wall) }
        }
    }

    func append(_ bytes: [UInt8]) { state.withLock { $0.body += bytes } }

    var hasBegun: Bool { state.withLock { $0.status != nil } }
    var isLines: Bool { state.withLock { $0.status == 200 } }

    func refusal(_ response: FetchResponse) -> RelayRefusal {
        state.withLock { state in
            RelayRefusal(
                status: response.status, retryAfter: response.retryAfter, body: state.body,
                clockDifference: state.clockDifference)
        }
    }
}

enum RelayResult: Sendable, Equatable {
    /// A response of lines arrived; it may lack some.
    case completed
    /// The relay answered with an error.
    case refused(RelayRefusal)
    /// The connection broke: the relay may have seen the request.
    case interrupted
    case unconnected(isUnknownHost: Bool)
    /// The relay's certificate cannot be trusted.
    case untrusted

    /// - Parameter hasHead: whether the head of a response had arrived.
    init(_ error: FetchError, hasHead: Bool) {
        // libcurl-errors(3)
        let (unknownHost, cannotConnect, unverified, badAuthorities) = (6, 7, 60, 77)
        self =
            switch error {
            case _ where hasHead: .interrupted
            case .network(let code) where code == unknownHost: .unconnected(isUnknownHost: true)
            case .network(let code) where code == cannotConnect: .unconnected(isUnknownHost: false)
            case .tls(let code, _) where code == unverified || code == badAuthorities: .untrusted
            // A broken handshake is equivalent to no connection.
            case .tls, .timeout: .unconnected(isUnknownHost: false)
            default: .interrupted
            }
    }
}

/// The meaning of a response that is not one of lines.
enum RelayRefusal: Sendable, Equatable {
    case fault(RelayFault)
    /// `difference`: seconds by which the relay's clock is ahead of this machine's, if known.
    case stale(difference: Int?)
    /// Too many requests or wake-ups; `retryAfter` in seconds, 0 when the relay gave none.
    case busy(retryAfter: Int)
    /// The relay has not taken it: it is about to stop, or a front says that there is none.
    case failed(retryAfter: Int)
    /// The relay failed, or a front has no response of it: it may have taken the request.
    case unclear(retryAfter: Int)
    /// The relay has seen the same request before: the network sent it twice.
    case replayed

    /// - Parameter body: problem+json of a relay, or anything.
    init(status: Int, retryAfter: Int?, body: [UInt8], clockDifference: Int?) {
        switch (status, Self.code(in: body)) {
        case (401, "signature_stale"): self = .stale(difference: clockDifference)
        case (401, "signature_replayed"): self = .replayed
        case (401, "signature_missing"), (401, "signature_malformed"), (401, "signature_wrong"):
            self = .fault(.signatureRefused)
        case (403, "installation_unknown"): self = .fault(.notAllowed)
        case (404, _): self = .fault(.noRelay)
        case (429, _): self = .busy(retryAfter: retryAfter ?? 0)
        case (408, _), (503, _): self = .failed(retryAfter: retryAfter ?? 0)
        case (500...599, _): self = .unclear(retryAfter: retryAfter ?? 0)
        default: self = .fault(.requestRefused(status: status))
        }
    }

    /// The project's own member `code` (RFC 9457 §3.2).
    private static func code(in body: [UInt8]) -> String? {
        guard case .object(let members)? = try? JSONValue(parsing: body),
            case .string(let code)? = members["code"]
        else { return nil }
        return String(decoding: code, as: UTF8.self)
    }
}
