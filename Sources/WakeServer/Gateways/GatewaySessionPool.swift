import WakeModel
import WakePush
import WakeSystem

/// The gateway sessions that requests share: one for each push service and lifetime, opened at
/// first use and kept while used, as Apple treats rapid reconnects as an attack.
struct GatewaySessionPool {
    enum Choice {
        case session(Int)
        /// It failed a moment ago, and is not tried again yet.
        case failed(GatewayFailure)
        /// There is no such gateway.
        case off
    }

    private struct Key: Hashable {
        let service: PushService
        let lifetime: Int
    }

    private struct Open {
        let key: Key
        let session: any GatewaySession
        let since: UInt64
        var used: UInt64
        var unsettled = 0
    }

    /// The pause after a failure.
    private struct Pause {
        var backoff = Backoff(base: .seconds(30), ceiling: .seconds(900), jitter: .stretch)
        var until: UInt64 = 0
        var failure: GatewayFailure
    }

    private var gateways: [PushService: any Gateway]
    private let report: @Sendable (Int, GatewayReport) -> Void
    private var open: [Int: Open] = [:]
    private var current: [Key: Int] = [:]
    private var pauses: [PushService: Pause] = [:]
    private var last = 0

    /// Milliseconds for which a session takes new wake-ups.
    private static let age: UInt64 = 1_800_000
    /// Seconds by which the time at which wake-ups expire may be too early: a session sets it every
    /// quarter of an hour, see `EngineTransport`.
    private static let staleness = 900
    /// Milliseconds without use after which a session is closed.
    private static let idle: UInt64 = 600_000
    /// Lifetimes of sessions in seconds. A wake-up kept longer than asked is harmless: it has no
    /// content, and the next one replaces it.
    private static let lifetimes = [7_200, 28_800, 86_400, 604_800]

    /// - Parameter report: called from any thread, with the session's number.
    init(gateways: [any Gateway], report: @escaping @Sendable (Int, GatewayReport) -> Void) {
        self.gateways = Self.byService(gateways)
        self.report = report
    }

    private static func byService(_ gateways: [any Gateway]) -> [PushService: any Gateway] {
        Dictionary(gateways.map { ($0.service, $0) }) { first, _ in first }
    }

    /// From now on wake-ups go to these gateways. Sessions with those that were replaced end when
    /// they are settled and idle.
    mutating func replace(_ gateways: [any Gateway], of services: [PushService]) {
        self.gateways = Self.byService(gateways)
        for key in current.keys where services.contains(key.service) { current[key] = nil }
        for service in services { pauses[service] = nil }
    }

    var isEmpty: Bool { open.isEmpty }
    /// Wake-ups in sessions, also those of clients that are gone.
    var unsettled: Int { open.values.reduce(0) { $0 + max(0, $1.unsettled) } }

    /// The lifetime of the session for a request of `seconds`: at least that, up to a week.
    static func sessionLifetime(for seconds: Int) -> Int {
        lifetimes.first { $0 >= seconds } ?? lifetimes[lifetimes.count - 1]
    }

    /// The session for wake-ups of a push service, for a lifetime in seconds.
    mutating func choose(_ service: PushService, lifetime: Int, now: UInt64) -> Choice {
        guard let gateway = gateways[service] else { return .off }
        let key = Key(service: service, lifetime: Self.sessionLifetime(for: lifetime))
        if let number = current[key], let open = open[number], now - open.since < Self.age {
            return .session(number)
        }
        if let pause = pauses[service], now < pause.until { return .failed(pause.failure) }
        last += 1
        let number = last
        let session = gateway.open(lifetime: key.lifetime + Self.staleness) { [report] in
            report(number, $0)
        }
        open[number] = Open(key: key, session: session, since: now, used: now)
        current[key] = number
        return .session(number)
    }

    mutating func send(_ wakeUps: [WakeUp], to number: Int, now: UInt64) {
        open[number]?.used = now
        open[number]?.unsettled += wakeUps.count
        guard let session = open[number]?.session else { return }
        session.send(wakeUps)
        // An ambiguous answer must not wait for a later request, which may never come.
        session.flush(isFinal: false)
    }

    /// Wake-ups of one session without a result.
    func unsettled(of number: Int) -> Int { max(0, open[number]?.unsettled ?? 0) }

    mutating func complete(_ results: [WakeUpResult], by number: Int) {
        guard let key = open[number]?.key else { return }
        open[number]?.unsettled -= results.count
        if results.contains(where: { $0.delivery == .accepted }) { pauses[key.service] = nil }
    }

    /// - Returns: the session's push service; nil when the session is already closed.
    mutating func failed(_ number: Int, _ failure: GatewayFailure, now: UInt64) -> PushService? {
        guard let ended = close(number) else { return nil }
        var pause = pauses[ended.key.service] ?? Pause(failure: failure)
        pause.failure = failure
        pause.until = now + UInt64(pause.backoff.fail(random: 0) / .milliseconds(1))
        pauses[ended.key.service] = pause
        return ended.key.service
    }

    /// Closes sessions that are old or unused; called several times a second.
    mutating func tick(now: UInt64) {
        for (number, entry) in open {
            let isOld = now - entry.since >= Self.age
            if entry.unsettled <= 0, isOld || now - entry.used >= Self.idle {
                close(number)?.session.cancel()
            } else {
                entry.session.tick()
            }
        }
    }

    mutating func stop() { for number in Array(open.keys) { close(number)?.session.cancel() } }

    @discardableResult
    private mutating func close(_ number: Int) -> Open? {
        guard let ended = open.removeValue(forKey: number) else { return nil }
        if current[ended.key] == number { current[ended.key] = nil }
        return ended
    }
}
