import Synchronization
import WakeModel
import WakePush
import WakeSystem

/// Sends the single pushes that devices ask for to see whether pushes arrive (`POST
/// /v1/registration/wake`). Nothing of them outlives the process, and no answer of a push service
/// to one deletes anything: the next broadcast hears the same.
final class TestPushes: Sendable {
    private enum Message: Sendable {
        case push(PushToken)
        case report(session: Int, GatewayReport)
        /// Other gateways of these push services.
        case gateways([any Gateway], of: [PushService])
    }

    let accepted = Counter("test_pushes_accepted", "pushes to test a device that were accepted")
    let failed = Counter("test_pushes_failed", "pushes to test a device that were not accepted")

    private let gateways: [any Gateway]
    private let clock: TimeSource
    private let stopped: @Sendable (PushService, GatewayFailure) -> Void
    private let limits = Mutex(TestPushLimits())
    private let mailbox: Mailbox<Message>
    private let event: AsyncEvent

    /// Seconds for which a push service keeps the push: the device that asks is on.
    private static let lifetime = 7200
    /// Milliseconds between two looks at open sessions, and without any at what may be forgotten.
    private static let ticks: (busy: UInt64, idle: UInt64) = (250, 60_000)

    /// - Parameter stopped: called when a gateway stops.
    init(
        _ gateways: [any Gateway], clock: TimeSource = .system,
        stopped: @escaping @Sendable (PushService, GatewayFailure) -> Void
    ) {
        self.gateways = gateways
        self.clock = clock
        self.stopped = stopped
        let event = AsyncEvent()
        self.event = event
        mailbox = Mailbox(capacity: TestPushLimits.burst) { event.signal() }
    }

    /// The reason why a device may not ask now, registered or not; nil where it may, which counts.
    func refusal(for token: InstanceToken) -> TestPushLimits.Refusal? {
        let now = clock.milliseconds()
        defer { event.signal() }
        return limits.withLock { $0.refusal(for: token, now: now) }
    }

    /// From any thread, without waiting. While too many wait, nothing is sent.
    func send(to token: PushToken) {
        if mailbox.post(.push(token)) != .posted { failed.add() }
    }

    func replace(_ gateways: [any Gateway], of services: [PushService]) {
        mailbox.post(.gateways(gateways, of: services), weight: 0)
    }

    /// Sends until the task is cancelled. It sleeps while there is nothing to send or to forget.
    func run() async {
        var sessions = GatewaySessionPool(gateways: gateways) { [mailbox] number, report in
            mailbox.post(.report(session: number, report), weight: 0)
        }
        var reference = 0
        await withDiscardingTaskGroup { group in
            var nextTick: UInt64 = 0
            while !Task.isCancelled {
                await event.wait()
                let now = clock.milliseconds()
                for message in mailbox.take() {
                    switch message {
                    case .push(let token):
                        mailbox.release(1)
                        reference += 1
                        push(to: token, reference, by: &sessions, now: now)
                    case .report(let session, let report):
                        note(report, of: session, in: &sessions, now: now)
                    case .gateways(let gateways, let services):
                        sessions.replace(gateways, of: services)
                    }
                }
                sessions.tick(now: now)
                let isIdle = sessions.isEmpty
                if isIdle, limits.withLock({ $0.isEmpty(now: now) }) { continue }
                let tick = isIdle ? Self.ticks.idle : Self.ticks.busy
                guard now + tick < nextTick || now >= nextTick else { continue }
                nextTick = now + tick
                group.addTask { [event] in
                    try? await Task.sleep(for: .milliseconds(tick))
                    event.signal()
                }
            }
            sessions.stop()
            group.cancelAll()
        }
    }

    private func push(
        to token: PushToken, _ reference: Int, by sessions: inout GatewaySessionPool, now: UInt64
    ) {
        switch sessions.choose(token.service, lifetime: Self.lifetime, now: now) {
        case .session(let number):
            let wakeUp = WakeUp(reference: reference, token: token, mayRepeat: false)
            sessions.send([wakeUp], to: number, now: now)
        case .failed, .off: failed.add()
        }
    }

    private func note(
        _ report: GatewayReport, of session: Int, in sessions: inout GatewaySessionPool,
        now: UInt64
    ) {
        switch report {
        case .completed(let results): complete(results, of: session, in: &sessions)
        case .deferred(let references):
            let results = references.map {
                WakeUpResult(reference: $0, delivery: .retry(.throttled))
            }
            complete(results, of: session, in: &sessions)
        case .retried, .uncertain, .delayed: break
        case .failed(let failure):
            failed.add(sessions.unsettled(of: session))
            if let service = sessions.failed(session, failure, now: now) {
                stopped(service, failure)
            }
        }
    }

    private func complete(
        _ results: [WakeUpResult], of session: Int, in sessions: inout GatewaySessionPool
    ) {
        sessions.complete(results, by: session)
        let count = results.count { $0.delivery == .accepted }
        accepted.add(count)
        failed.add(results.count - count)
    }
}
