import WakeModel
import WakePush
import WakeStore

/// One broadcast's way through the store: every registration is read once, every distinct push
/// token handed to its gateway once, and what the push services call gone is deleted, compared
/// with what was read, unless the brake holds. Used by one task.
final class BroadcastRound {
    private let store: Store
    private let gateways: [any Gateway]
    private let settings: RoundSettings
    private let log: Log
    private let publish: (BroadcastReport) -> Void

    private let journal: RoundJournal
    private let inbox: RoundInbox
    /// By place; nil once stopped.
    private var open: [(any GatewayRound)?] = []
    private var outgoing: [[WakeUp]]
    private var unsettled: UnsettledRows
    private var brakes: [Brake<UnsettledRows.Row>]
    private var gone: [UnsettledRows.Row] = []
    private var seen = SeenTokens()
    private var pace: Pace?
    /// Pushes that may leave at once.
    private var allowed = 0
    private var report: BroadcastReport
    private let start = ContinuousClock.now
    private var nextTick = ContinuousClock.now
    /// Told to stop: until then a bucket that has begun is sent to its end.
    private var patience: ContinuousClock.Instant?
    /// Read of the previous generation so far.
    private var previousRows = 0

    /// Between two ticks of the gateways.
    private static let tick = Duration.milliseconds(100)
    /// Wake-ups handed to a gateway at once; after each it is looked what came back, so that little
    /// is known to have been sent and not written down.
    private static let parcel = 128
    /// Registrations deleted at once: each such commit is flushed and empties the log, which
    /// registrations would feel ten times a second. What a crash leaves is deleted by the next
    /// round.
    private static let deletes = 256

    /// - Parameters:
    ///   - report: with the round's number and what it had done before a restart.
    ///   - publish: told how far it is, many times.
    init(
        _ report: BroadcastReport, journal: RoundJournal, inbox: RoundInbox, store: Store,
        gateways: [any Gateway], settings: RoundSettings, log: Log,
        publish: @escaping (BroadcastReport) -> Void
    ) {
        self.report = report
        self.journal = journal
        self.inbox = inbox
        self.store = store
        self.gateways = gateways
        self.settings = settings
        self.log = log
        self.publish = publish
        pace = settings.pace
        outgoing = gateways.map { _ in [] }
        let braked = journal.counters.braked
        brakes = gateways.indices.map { place in
            Brake(perMille: settings.brakePerMille, isTripped: braked & 1 << UInt64(place) != 0)
        }
        // Enough that no gateway waits for rows while another is slow to answer.
        let busy = gateways.reduce(0) { $0 + $1.window }
        unsettled = UnsettledRows(capacity: busy + Limits.unsettledWakeUps)
    }

    /// Walks, sends, settles. Once the inbox is told to stop it sends no more and waits a moment
    /// for what is in flight.
    /// - Returns: `isComplete` when nothing of the round is left to do.
    func run() async -> BroadcastReport {
        open = gateways.enumerated().map { place, gateway in
            gateway.open(lifetime: settings.lifetime) { [inbox] report in
                inbox.put(RoundInbox.Note(gateway: place, report: report))
            }
        }
        await withTaskGroup(of: Void.self) { [inbox, settings] group in
            group.addTask {
                while !Task.isCancelled {
                    try? await Task.sleep(for: settings.tick)
                    inbox.ring()
                }
            }
            await walk()
            if !report.isComplete { await land() }
            group.cancelAll()
        }
        for gateway in open { gateway?.stop() }
        for place in brakes.indices { gone += brakes[place].finish() }
        noteBrakes()
        await removeGone()
        tell()
        journal.close(keptCounters)
        return report
    }

    // MARK: Reading

    private func walk() async {
        while !inbox.isStopping {
            switch journal.next() {
            case .run(let run):
                guard await read(run) else { return }
            case .settle:
                await settleAll()
            case .end:
                report.isComplete = true
                if report.startCounters.rows == 0 { report.previousRows = UInt64(previousRows) }
                return
            }
        }
    }

    /// - Returns: false when the round is over.
    private func read(_ run: BucketRun) async -> Bool {
        var last = run.after
        var isLeft = false
        while !isLeft {
            guard
                let page = await store.page(
                    of: run.generation, after: last, limit: Limits.walkRows)
            else {
                report.isCutShort = true
                break
            }
            for row in page.rows where !isLeft && run.contains(row.id) {
                isLeft = await !send(row, run.generation)
            }
            for place in open.indices { flush(place) }
            await settleWhatCame()
            if isLeft { break }
            guard let end = page.last, run.contains(end) else {
                journal.endRun()
                return true
            }
            last = end
        }
        journal.breakOff()
        return false
    }

    /// - Returns: false when it was left for the next run of the program.
    private func send(_ row: StoreRow, _ generation: Generation) async -> Bool {
        let isBegun = journal.continues(row.id)
        let stretch = journal.read(row.id)
        guard isStill(isBegun: isBegun) else { return false }
        report.counters.rows += 1
        if generation == .previous { previousRows += 1 }
        guard let place = gateways.firstIndex(where: { $0.service == row.token.service }) else {
            report.counters.unserved += 1
            journal.settle(stretch)
            return true
        }
        guard seen.insert(row.token) else {
            report.counters.duplicates += 1
            journal.settle(stretch)
            return true
        }
        // Nothing that cannot leave waits for its turn.
        if open[place] != nil {
            guard await waitForRoom(isBegun: isBegun) else {
                report.counters.rows -= 1
                return false
            }
        }
        // Looked at after the wait: the gateway may have stopped meanwhile.
        guard open[place] != nil else {
            report.counters.unsent += 1
            journal.settle(stretch)
            return true
        }
        allowed -= 1
        let slot = unsettled.insert(
            UnsettledRows.Row(
                row: row, generation: generation, gateway: place, stretch: stretch))
        outgoing[place].append(WakeUp(reference: slot, token: row.token))
        guard outgoing[place].count >= Self.parcel else { return true }
        flush(place)
        await settleWhatCame()
        return true
    }

    /// Whether rows are still to be sent. Once told to stop, only those of a bucket that has begun:
    /// all of it would be sent again.
    private func isStill(isBegun: Bool) -> Bool {
        guard inbox.isStopping else { return true }
        let now = ContinuousClock.now
        let patience = patience ?? now + settings.landing
        self.patience = patience
        return isBegun && now < patience
    }

    /// Until another wake-up may leave.
    /// - Returns: false when none may any more.
    private func waitForRoom(isBegun: Bool) async -> Bool {
        while isStill(isBegun: isBegun) {
            // The few that end a bucket need not keep the pace.
            if allowed <= 0, inbox.isStopping { allowed = 1 }
            if allowed == 0 { allowed = pace?.allowance(now: elapsedNanoseconds) ?? .max }
            if allowed > 0, !unsettled.isFull { return true }
            for place in open.indices { flush(place) }
            await settle()
        }
        return false
    }

    private func flush(_ place: Int) {
        guard !outgoing[place].isEmpty else { return }
        open[place]?.send(outgoing[place])
        outgoing[place].removeAll(keepingCapacity: true)
    }

    // MARK: Settling

    /// Everything of this generation was sent: waits for what is outstanding.
    private func settleAll() async {
        for gateway in open {
            if journal.isInLast { gateway?.finish() } else { gateway?.drain() }
        }
        while unsettled.count > 0, !inbox.isStopping { await settle() }
        journal.keep(keptCounters)
    }

    /// Waits for what has left, so that nothing of it is repeated, but not for long.
    private func land() async {
        let deadline = ContinuousClock.now + settings.landing
        while open.contains(where: { ($0?.land() ?? 0) > 0 }), ContinuousClock.now < deadline {
            await settle()
        }
        await settleWhatCame()
    }

    /// Waits until something may have come.
    private func settle() async {
        for await _ in inbox.bell { break }
        await settleWhatCame()
    }

    private func settleWhatCame() async {
        let now = ContinuousClock.now
        if now >= nextTick {
            nextTick = now + Self.tick
            for gateway in open { gateway?.tick() }
        }
        for note in inbox.take() { take(note) }
        noteBrakes()
        if gone.count >= Self.deletes { await removeGone() }
        journal.keep(keptCounters)
        tell()
    }

    private func take(_ note: RoundInbox.Note) {
        switch note.report {
        case .settled(let wakeUps):
            for wakeUp in wakeUps {
                settle(unsettled.remove(wakeUp.reference), wakeUp.delivery)
            }
        case .retried(let count): report.counters.retried += UInt64(count)
        case .failed(let failure):
            open[note.gateway] = nil
            outgoing[note.gateway] = []
            for row in unsettled.removeAll(of: note.gateway) {
                report.counters.unsent += 1
                journal.settle(row.stretch)
            }
            let service = gateways[note.gateway].service
            log(.gatewayStopped(service, failure))
            report.stopped[service] = failure.message
        }
    }

    private func settle(_ row: UnsettledRows.Row, _ delivery: Delivery) {
        journal.settle(row.stretch)
        switch delivery {
        case .accepted:
            report.counters.accepted += 1
            brakes[row.gateway].accepted()
        case .retry(let cause):
            report.counters.abandoned += 1
            report.causes[cause, default: 0] += 1
        case .gone:
            report.counters.gone += 1
            gone += brakes[row.gateway].gone(row)
        }
    }

    /// As written down: what a stop leaves unsettled is read, and counted, again.
    private var keptCounters: RoundCounters {
        var counters = report.counters
        counters.rows -= min(counters.rows, UInt64(unsettled.count))
        return counters
    }

    private func noteBrakes() {
        for place in brakes.indices where brakes[place].isTripped {
            let service = gateways[place].service
            guard report.braked.insert(service).inserted else { continue }
            report.counters.braked |= 1 << UInt64(place)
            log(.brakeTripped(service))
        }
    }

    private func removeGone() async {
        guard !gone.isEmpty else { return }
        let rows = gone.map { (row: $0.row, generation: $0.generation) }
        gone = []
        report.counters.deleted += UInt64(rows.count)
        await store.removeIfUnchanged(rows)
    }

    private var elapsedNanoseconds: UInt64 {
        UInt64((ContinuousClock.now - start) / .nanoseconds(1))
    }

    private func tell() {
        report.counters.milliseconds =
            report.startCounters.milliseconds + elapsedNanoseconds / 1_000_000
        let rest = max(1, store.estimatedRows - previousRows)
        report.permille = Int(
            journal.progress(previousRows: previousRows, currentRows: rest) * 1000)
        publish(report)
    }
}
