import WakeModel

/// How wake-ups are settled, one by one and all those of a host.
extension WebPushFlow {
    mutating func settle(_ entry: Entry, _ delivery: Delivery, _ step: inout Step) {
        pending -= 1
        step.settled.append(SettledWakeUp(entry, delivery))
    }

    /// Settled when the host accepts something, or the round ends.
    mutating func hold(_ entry: Entry, _ host: Int) {
        pending -= 1
        heldCount += 1
        hosts[host].held.append(entry)
    }

    /// The host is given up for this round.
    mutating func end(
        _ host: Int, as cause: RetryCause, _ failure: GatewayFailure, _ step: inout Step
    ) {
        guard hosts[host].end == nil else { return }
        hosts[host].end = cause
        for entry in hosts[host].takeAll() {
            suspectOrSettle(entry, .retry(cause), failure, &step)
        }
        disbelieve(host, &step)
    }

    /// "Gone" of a host that has accepted nothing stays undecided: nothing is deleted for it.
    mutating func disbelieve(_ host: Int, _ step: inout Step) {
        heldCount -= hosts[host].held.count
        for entry in hosts[host].held {
            if !hasAccepted, suspect == nil {
                suspect = (entry, .retry(.unknownRefusal))
                continue
            }
            step.settled.append(SettledWakeUp(entry, .retry(.unknownRefusal)))
        }
        hosts[host].held = []
    }

    /// Milliseconds in trouble after which a host that has accepted something gives way.
    private static let patience: UInt64 = 30_000

    /// Hosts in trouble may not take the room that others need. Beyond half of it they are given
    /// up: first those that have accepted nothing, then those that have not worked for a while.
    mutating func relieve(now: UInt64, _ step: inout Step) {
        var troubled: [(host: Int, waiting: Int, isProven: Bool)] = []
        guard pending > bounds.window / 2 else { return }
        for host in hosts.indices where hosts[host].end == nil {
            guard let trouble = hosts[host].trouble(now: now) else { continue }
            let isProven = hosts[host].hasAccepted
            if isProven, trouble < Self.patience { continue }
            let waiting = hosts[host].readyCount + hosts[host].delayedCount
            troubled.append((host, waiting, isProven))
        }
        var total = troubled.reduce(0) { $0 + $1.waiting }
        troubled.sort { ($0.isProven ? 1 : 0, -$0.waiting) < ($1.isProven ? 1 : 0, -$1.waiting) }
        for (host, waiting, _) in troubled where total > bounds.window / 2 {
            end(
                host, as: .connectionFault, .unavailable(.unreachable, .webPush), &step)
            total -= waiting
        }
    }

    // MARK: What the gateway may be at fault for

    /// What the operator can put right says more than what may pass.
    mutating func suspect(_ failure: GatewayFailure) {
        guard !hasAccepted else { return }
        switch (suspicion, failure) {
        case (nil, _), (.unavailable, .misconfigured): suspicion = failure
        default: return
        }
    }

    /// Keeps one wake-up back while nothing was accepted: if nothing ever is, it shows why.
    mutating func suspectOrSettle(
        _ entry: Entry, _ delivery: Delivery, _ failure: GatewayFailure, _ step: inout Step
    ) {
        suspect(failure)
        guard !hasAccepted, suspect == nil else { return settle(entry, delivery, &step) }
        pending -= 1
        suspect = (entry, delivery)
    }

    mutating func clearSuspect(_ step: inout Step) {
        guard let known = suspect else { return }
        suspect = nil
        step.settled.append(SettledWakeUp(known.entry, known.delivery))
    }
}

extension SettledWakeUp {
    init(_ entry: PushHost.Entry, _ delivery: Delivery) {
        self.init(reference: entry.wakeUp.reference, delivery: delivery)
    }
}
