import Synchronization
import WakeHTTP
package import WakeModel
import WakePush
import WakeSystem

/// The service that forwards wake-ups of self-hosted installations through sessions that all
/// requests share, and reports each delivery as it is known.
///
/// Nothing of a request outlives it: a memory of push tokens, even of hashes, would list who is
/// woken by which installations. Those keep the limit of three wake-ups an hour themselves; the
/// budget of each bounds what it can do.
package final class RelayService: Sendable {
    enum Message: Sendable {
        /// A request whose head is authenticated and whose body is not read yet.
        case request(RelayJob)
        case report(session: Int, GatewayReport)
        /// The client of a request is gone.
        case disconnected(request: Int)
        /// Other gateways of these push services.
        case gateways([any Gateway], of: [PushService])
    }

    package let counters = RelayCounters()
    private let authenticator: RelayAuthenticator
    private let gateways: [any Gateway]
    private let clock: TimeSource
    private let report: RelayEvent.Handler
    private let mailbox: Mailbox<Message>
    private let event: AsyncEvent
    private let isBusy = Atomic<Bool>(false)

    /// Milliseconds between two checks of deadlines while there is work, and without.
    private static let ticks = (busy: 100, idle: 1000)

    init(
        authenticator: RelayAuthenticator, gateways: [any Gateway], clock: TimeSource,
        report: @escaping RelayEvent.Handler
    ) {
        self.authenticator = authenticator
        self.gateways = gateways
        self.clock = clock
        self.report = report
        let event = AsyncEvent()
        self.event = event
        mailbox = Mailbox(capacity: Limits.relayRequests) { event.signal() }
    }

    /// Accepts a request whose head is authenticated; from any thread, without waiting.
    func accept(
        _ request: Request, _ responder: Responder,
        _ authenticated: RelayAuthenticator.AuthenticatedRequest
    ) {
        let message = Message.request((request, responder, authenticated))
        if mailbox.post(message) != .posted { refuse(responder, .busy(seconds: 1)) }
    }

    func replace(_ gateways: [any Gateway], of services: [PushService]) {
        mailbox.post(.gateways(gateways, of: services), weight: 0)
    }

    func refuse(_ responder: Responder, _ problem: RelayProblem) {
        responder.respond(response(to: problem))
    }

    /// The response to one request that is not served; counts it.
    func response(to problem: RelayProblem) -> Response {
        counters.refuse(problem.problem)
        report(.refused(problem.problem))
        return problem.response
    }

    /// Serves until the task is cancelled; then ends the requests under way.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                while !Task.isCancelled {
                    let tick = isBusy.load(ordering: .relaxed) ? Self.ticks.busy : Self.ticks.idle
                    try? await Task.sleep(for: .milliseconds(tick))
                    event.signal()
                }
            }
            var dispatcher = RelayDispatcher(
                authenticator: authenticator, clock: clock, mailbox: mailbox, report: report,
                sessions: GatewaySessionPool(gateways: gateways) { [mailbox] number, report in
                    mailbox.post(.report(session: number, report), weight: 0)
                })
            while !Task.isCancelled {
                await event.wait()
                dispatcher.process(takeMessages(), self)
                isBusy.store(dispatcher.isBusy, ordering: .relaxed)
            }
            mailbox.close()
            dispatcher.process(takeMessages(), isLast: true, self)
            group.cancelAll()
        }
    }

    /// Takes all messages; from now on as many requests may wait again.
    private func takeMessages() -> [Message] {
        let messages = mailbox.take()
        mailbox.release(messages.count { if case .request = $0 { true } else { false } })
        return messages
    }
}

/// A request, its responder, and the proof that its head is authenticated.
typealias RelayJob = (
    request: Request, responder: Responder, authenticated: RelayAuthenticator.AuthenticatedRequest
)

/// Numbers of wake-ups by their outcome.
package struct RelayCounts: Sendable, Equatable {
    package var accepted = 0
    package var gone = 0
    package var retried = 0
    /// Left to the installation, for a gateway that stopped or does not exist.
    package var stopped = 0
}

/// The counters of the relay: sums over all installations, nothing of one.
package final class RelayCounters: Sendable {
    private let state = Mutex((counts: RelayCounts(), refusals: [Problem: Int]()))

    func add(_ counts: RelayCounts) {
        state.withLock { state in
            state.counts.accepted += counts.accepted
            state.counts.gone += counts.gone
            state.counts.retried += counts.retried
            state.counts.stopped += counts.stopped
        }
    }

    func refuse(_ problem: Problem) { state.withLock { $0.refusals[problem, default: 0] += 1 } }

    package var counts: RelayCounts { state.withLock { $0.counts } }
    package var refusals: [Problem: Int] { state.withLock { $0.refusals } }
}
