import Synchronization
import WakeFetch
import WakeModel

/// Takes one batch to a relay and its answer back: where, as whom, and over which connections.
struct RelayLink: Sendable {
    private let url: FetchURL
    private let authority: [UInt8]
    private let key: RelayKey
    private let fetcher: Fetcher
    private let clock: EngineClock

    /// Of an answer, bytes: a line for each wake-up, one that the gateway stopped, and the last.
    private static let answerLimit = RelayLine.maximumBytes * (RelayBatch.maximumWakes + 2)
    /// Seconds of silence after which an answer is taken for dead: a relay leaves a wake-up that
    /// does not settle for another request after 300.
    private static let silence = 330
    /// Seconds for one answer, however slowly it comes.
    private static let longest = 1800

    /// - Throws: `libraryMissing` when libcurl cannot be loaded.
    init(
        _ configuration: RelayConfiguration, _ key: RelayKey, _ clock: EngineClock
    ) throws(FetchError) {
        url = try configuration.url.appending(RelayRequest.path.description.dropFirst().description)
        authority = configuration.authority
        self.key = key
        self.clock = clock
        fetcher = try Fetcher(FetchConfiguration(caFile: configuration.authorityFile))
    }

    /// - Parameters:
    ///   - onAnswer: called when the head of an answer has come.
    ///   - onLines: called with the bytes of an answer of lines.
    func send(
        _ batch: RelayBatch, onAnswer: @escaping @Sendable () -> Void,
        onLines: @escaping @Sendable (Span<UInt8>) -> FetchVerdict
    ) async -> RelayEnd {
        let reply = RelayReply()
        do throws(FetchError) {
            let response = try await fetcher.fetch(
                request(batch),
                onHead: { response in
                    reply.begin(response, wall: clock.wallSeconds())
                    onAnswer()
                    return .proceed
                },
                sink: { bytes in
                    if reply.isLines { return onLines(bytes) }
                    reply.append(bytes.array)
                    return .proceed
                })
            return reply.isLines ? .answered : .refused(reply.refusal(response))
        } catch {
            return Self.end(error, hasHead: reply.hasBegun)
        }
    }

    private func request(_ batch: RelayBatch) -> FetchRequest {
        let body = batch.body()
        let signed = RelayRequest(
            body: body.span, authority: authority, key: key.signingKey,
            created: Int(clock.wallSeconds()), nonce: .random())
        return FetchRequest(
            url, method: .post, fields: signed.fields.map { FetchField($0.name, $0.value) },
            body: body, limit: Self.answerLimit,
            timeout: FetchTimeout(
                connect: .seconds(10), total: .seconds(Self.longest),
                pace: .idle(.seconds(Self.silence))),
            purpose: .gateway)
    }

    static func end(_ error: FetchError, hasHead: Bool) -> RelayEnd {
        if hasHead { return .cut }
        // libcurl-errors(3)
        let (unknownHost, cannotConnect, unverified, badAuthorities) = (6, 7, 60, 77)
        switch error {
        case .network(let code) where code == unknownHost:
            return .unconnected(isUnknownHost: true)
        case .network(let code) where code == cannotConnect:
            return .unconnected(isUnknownHost: false)
        case .tls(let code) where code == unverified || code == badAuthorities:
            return .untrusted
        // A handshake that broke, or nothing at all in time: as good as no connection.
        case .tls, .timeout: return .unconnected(isUnknownHost: false)
        default: return .cut
        }
    }
}

/// What has come of an answer that may not be one of lines.
private final class RelayReply: Sendable {
    private struct State {
        var status: Int?
        var difference: Int?
        var body: [UInt8] = []
    }

    private let state = Mutex(State())

    /// - Parameter wall: seconds since 1970, by this machine's clock.
    func begin(_ response: FetchResponse, wall: Int64) {
        state.withLock { state in
            state.status = response.status
            state.difference = response.date.map { Int($0 - wall) }
        }
    }

    func append(_ bytes: [UInt8]) { state.withLock { $0.body += bytes } }

    var hasBegun: Bool { state.withLock { $0.status != nil } }
    var isLines: Bool { state.withLock { $0.status == 200 } }

    func refusal(_ response: FetchResponse) -> RelayRefusal {
        state.withLock { state in
            RelayRefusal(
                status: response.status, retryAfter: response.retryAfter, body: state.body,
                difference: state.difference)
        }
    }
}
