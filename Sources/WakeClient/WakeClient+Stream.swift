import Synchronization
import WakeFeed
import WakeFetch
import WakeModel

// The anonymous event stream: one request without anything of the client in it, for as long as it
// lasts, and again with growing pauses when it ends. Polling goes on underneath.

extension WakeClient {
    /// Sign of life: the service sends a comment every 240 s, with jitter.
    private static let idle = Duration.seconds(600)
    /// A stream that lasted so long worked: the next pause starts small again.
    private static let steady = Duration.seconds(60)
    /// Longest pause that a server may ask for.
    private static let longestHint = Duration.seconds(3600)

    func listen() async -> LoopEnd {
        guard let url = service.wakes else { return .cancelled }
        var failures = 0
        while !Task.isCancelled {
            let start = environment.uptime()
            let inbox = WakeInbox()
            let retryAfter = await stream(url, into: inbox)
            isStreaming = false
            guard !Task.isCancelled else { break }
            let lasted = environment.uptime() - start
            failures = inbox.isConnected && lasted >= Self.steady ? 1 : failures + 1
            let jitter = Backoff.stream.delay(
                failures: failures, random: environment.randomUnit(),
                floor: .seconds(Int64(retryAfter ?? 0)))
            let pause = min(inbox.retry ?? .zero, Self.longestHint) + jitter
            environment.log(.streamEnded(retrySeconds: Int(pause.wholeSeconds)))
            await environment.sleep(pause)
        }
        return .cancelled
    }

    private var isOfFeed: Bool {
        if case .feed = source { true } else { false }
    }

    /// - Returns: seconds that the server asked to wait.
    private func stream(_ url: FetchURL, into inbox: WakeInbox) async -> Int? {
        let request = FetchRequest(
            url, limit: WakeInbox.limit, timeout: .stream(idle: Self.idle), purpose: .stream)
        let transport = transport
        return await withTaskGroup(of: Int?.self) { group in
            group.addTask {
                defer { inbox.close() }
                do throws(FetchError) {
                    let response = try await transport.fetch(
                        request, onHead: { inbox.begin($0) }, sink: { inbox.take($0) })
                    return response.retryAfter
                } catch {
                    return inbox.refusedRetryAfter
                }
            }
            var isFirst = true
            while let event = await inbox.next() {
                received(event, isFirst: isFirst)
                isFirst = false
            }
            return await group.next() ?? nil
        }
    }

    private func received(_ event: WakeEvent, isFirst: Bool) {
        if isFirst {
            isStreaming = true
            environment.log(.streamConnected)
        }
        let now = environment.wallSeconds()
        guard record.orders.pausedUntil(now: now) == nil else { return }
        // The service's feed may not be what this client looks at.
        let sequence = isOfFeed ? event.sequence : 0
        let request = CycleGate.Request(hint: sequence, isBlindWake: sequence == 0)
        if isFirst {
            // Sent to everybody who connects; what it stands for may have been missed meanwhile.
            // The reconnection was spread already.
            let isNews = sequence == 0 || sequence > record.sequence
            let age = now - record.watch.verified
            let isFresh = record.watch.hasVerified && (0..<60).contains(age)
            if isNews || !isFresh { ask(.init(hint: sequence)) }
            return
        }
        askSpread(request)
    }
}
