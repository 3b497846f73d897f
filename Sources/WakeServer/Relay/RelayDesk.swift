import Synchronization
import WakeHTTP
import WakeModel
import WakePush

/// Passes on wake-ups of self-hosted installations: takes their requests in, hands the push tokens
/// to rounds that all requests share, and says what became of each as it comes to be known.
///
/// Nothing of a request outlives it, and nothing of it is ever written. Therefore it is also not
/// known here how often a push token is woken: that none is more than three times an hour is kept
/// by the installation, which has it in its store. A memory of push tokens, be it of hashes and for
/// an hour, would be a list of who is woken by which installations; it is not worth the little it
/// could prevent. What an installation can do at all is bounded by its budget, and ended by
/// revoking it.
final class RelayDesk: Sendable {
    let counters = RelayCounters()
    private let gate: RelayGate
    private let gateways: [any Gateway]
    private let clock: RelayClock
    private let log: Log
    private let inbox = RelayInbox(limit: Limits.relayRequests)
    private let isBusy = Atomic<Bool>(false)

    /// Milliseconds between two looks at what only time changes.
    private static let tick = 100

    init(gate: RelayGate, gateways: [any Gateway], clock: RelayClock = .system, log: Log) {
        self.gate = gate
        self.gateways = gateways
        self.clock = clock
        self.log = log
    }

    /// Takes a request whose head was judged; from any thread, at once.
    func take(_ request: Request, _ exchange: Exchange, _ visit: RelayGate.Visit) {
        let job = RelayInbox.Job(request: request, exchange: exchange, visit: visit)
        if !inbox.put(job) { refuse(exchange, .busy(seconds: 1)) }
    }

    /// Says why a request is not served.
    func refuse(_ exchange: Exchange, _ refusal: RelayProblem) {
        exchange.respond(answer(to: refusal))
    }

    /// The answer to a request that is not served, once.
    func answer(to refusal: RelayProblem) -> Response {
        counters.refuse(refusal.problem)
        log(.relayRefused(refusal.problem))
        return refusal.response
    }

    /// Serves until the task is cancelled; then ends what is in work.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                while !Task.isCancelled {
                    let isBusy = isBusy.load(ordering: .relaxed)
                    try? await Task.sleep(for: .milliseconds(isBusy ? Self.tick : 1000))
                    inbox.ring()
                }
            }
            var work = RelayWork(
                gate: gate, clock: clock, inbox: inbox, counters: counters, log: log,
                rounds: RelayRounds(gateways: gateways) { [inbox] number, report in
                    inbox.put(report, of: number)
                })
            for await _ in inbox.bell {
                work.turn(inbox.take(), self)
                isBusy.store(work.isBusy, ordering: .relaxed)
            }
            work.end(inbox.take(closing: true), self)
            group.cancelAll()
        }
    }
}
