import WakeModel
import WakePush

/// The rounds that requests share: one for each push service and lifetime, opened when first
/// needed and kept while used. Apple takes rapid reconnects for an attack, so that a connection for
/// every request is no choice.
///
/// A value that takes the time; the rounds themselves work on threads of their own.
struct RelayRounds {
    enum Choice {
        case round(Int)
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
        let round: any GatewayRound
        let since: UInt64
        var used: UInt64
        var unsettled = 0
    }

    /// After a failure, until when the next attempt waits.
    private struct Pause {
        var failures = 0
        var until: UInt64 = 0
        var failure: GatewayFailure
    }

    private let gateways: [PushService: any Gateway]
    private let report: @Sendable (Int, GatewayReport) -> Void
    private var open: [Int: Open] = [:]
    private var current: [Key: Int] = [:]
    private var pauses: [PushService: Pause] = [:]
    private var last = 0

    /// Milliseconds a round takes new wake-ups: it names one time until which push services keep
    /// them, and that must not come too near.
    static let age: UInt64 = 1_800_000
    /// Milliseconds without use after which a round is closed.
    static let idle: UInt64 = 600_000
    /// Milliseconds after a first failure; doubled with each.
    static let firstPause: UInt64 = 30_000
    static let longestPause: UInt64 = 900_000

    /// - Parameter report: called from any thread, with the round's number.
    init(
        gateways: [any Gateway], report: @escaping @Sendable (Int, GatewayReport) -> Void
    ) {
        self.gateways = Dictionary(gateways.map { ($0.service, $0) }) { first, _ in first }
        self.report = report
    }

    var isEmpty: Bool { open.isEmpty }
    /// Wake-ups given to rounds, also those that nobody waits for any more.
    var unsettled: Int { open.values.reduce(0) { $0 + max(0, $1.unsettled) } }

    /// Where wake-ups of a push service go now.
    /// - Parameter lifetime: seconds asked for.
    mutating func choose(_ service: PushService, lifetime: Int, now: UInt64) -> Choice {
        guard let gateway = gateways[service] else { return .off }
        let key = Key(service: service, lifetime: RelayLifetime.step(of: lifetime))
        if let number = current[key], let open = open[number], now - open.since < Self.age {
            return .round(number)
        }
        if let pause = pauses[service], now < pause.until { return .failed(pause.failure) }
        last += 1
        let number = last
        // What is given to it at the end of its age has its whole lifetime before it still.
        let round = gateway.open(lifetime: key.lifetime + Int(Self.age / 1000)) {
            [report] in report(number, $0)
        }
        open[number] = Open(key: key, round: round, since: now, used: now)
        current[key] = number
        return .round(number)
    }

    mutating func send(_ wakeUps: [WakeUp], to number: Int, now: UInt64) {
        open[number]?.used = now
        open[number]?.unsettled += wakeUps.count
        guard let round = open[number]?.round else { return }
        round.send(wakeUps)
        // No answer waits for the evidence of a request that may never come.
        round.drain()
    }

    /// Wake-ups of a round have settled.
    mutating func settled(_ wakeUps: [SettledWakeUp], by number: Int) {
        guard let key = open[number]?.key else { return }
        open[number]?.unsettled -= wakeUps.count
        if wakeUps.contains(where: { $0.delivery == .accepted }) { pauses[key.service] = nil }
    }

    /// - Returns: of what; nil when the round is gone already.
    mutating func failed(
        _ number: Int, _ failure: GatewayFailure, now: UInt64
    ) -> PushService? {
        guard let ended = close(number) else { return nil }
        var pause = pauses[ended.key.service] ?? Pause(failure: failure)
        pause.failure = failure
        pause.until =
            now + min(Self.longestPause, Self.firstPause << UInt64(min(pause.failures, 16)))
        pause.failures += 1
        pauses[ended.key.service] = pause
        return ended.key.service
    }

    /// Time passes; to be called some times a second while there are rounds.
    mutating func tick(now: UInt64) {
        for (number, round) in open {
            let isOld = now - round.since >= Self.age
            if round.unsettled <= 0, isOld || now - round.used >= Self.idle {
                close(number)?.round.stop()
            } else {
                round.round.tick()
            }
        }
    }

    mutating func stop() {
        for number in Array(open.keys) { close(number)?.round.stop() }
    }

    @discardableResult
    private mutating func close(_ number: Int) -> Open? {
        guard let ended = open.removeValue(forKey: number) else { return nil }
        if current[ended.key] == number { current[ended.key] = nil }
        return ended
    }
}
