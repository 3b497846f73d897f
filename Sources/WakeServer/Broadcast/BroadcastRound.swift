import WakeModel
import WakePush
import WakeStore

/// One broadcast's way through the store: every registration is read once, every distinct push
/// token handed to its gateway once, and what the push services call gone is deleted, compared
/// with what was read. Used by one task.
final class BroadcastRound {
    private let store: Store
    private let gateways: [any Gateway]
    private let lifetime: Int
    private let log: Log
    private let publish: (BroadcastReport) -> Void

    private let inbox = RoundInbox()
    /// By place; nil once stopped.
    private var open: [(any GatewayRound)?] = []
    private var outgoing: [[WakeUp]]
    private var unsettled: UnsettledRows
    private var gone: [UnsettledRows.Row] = []
    private var seen = SeenTokens()
    private var report: BroadcastReport
    private let start = ContinuousClock.now
    private var nextTick = ContinuousClock.now

    /// Between two ticks of the gateways.
    private static let tick = Duration.milliseconds(100)
    /// Wake-ups handed to a gateway at once.
    private static let parcel = 512

    /// - Parameters:
    ///   - lifetime: seconds a push service keeps a wake-up for a device that is off.
    ///   - publish: told how far it is, many times.
    init(
        _ report: BroadcastReport, store: Store, gateways: [any Gateway], lifetime: Int,
        log: Log, publish: @escaping (BroadcastReport) -> Void
    ) {
        self.report = report
        self.store = store
        self.gateways = gateways
        self.lifetime = lifetime
        self.log = log
        self.publish = publish
        outgoing = gateways.map { _ in [] }
        // Enough that no gateway waits for rows while another is slow to answer.
        let busy = gateways.reduce(0) { $0 + $1.window }
        unsettled = UnsettledRows(capacity: busy + Limits.unsettledWakeUps)
    }

    /// Walks, sends, settles. Ends early when the task is cancelled.
    func run() async -> BroadcastReport {
        open = gateways.enumerated().map { place, gateway in
            gateway.open(lifetime: lifetime) { [inbox] report in
                inbox.put(RoundInbox.Note(gateway: place, report: report))
            }
        }
        await withTaskGroup(of: Void.self) { [inbox] group in
            group.addTask {
                while !Task.isCancelled {
                    try? await Task.sleep(for: Self.tick)
                    inbox.ring()
                }
            }
            await walk()
            for gateway in open { gateway?.finish() }
            while unsettled.count > 0, !Task.isCancelled { await settle() }
            group.cancelAll()
        }
        for gateway in open { gateway?.stop() }
        await removeGone()
        report.isRunning = false
        tell()
        return report
    }

    // MARK: Reading

    /// All of the previous generation, then all of the current one: a renewal moves a row from the
    /// former to the latter, never back, so no row that lives through the round is missed. Each
    /// from a place drawn anew: the order of wake-ups tells nothing about a registration.
    private func walk() async {
        let order: [Generation] = [.previous, .current]
        for (index, generation) in order.enumerated() {
            let start = UInt16.random(in: 0...UInt16.max)
            for part in IDRange.wrapping(from: start) {
                guard await walk(generation, part, done: index) else { return }
            }
        }
        report.permille = 1000
    }

    /// - Returns: false when the round is over.
    private func walk(_ generation: Generation, _ part: IDRange, done: Int) async -> Bool {
        var last = part.before
        while !Task.isCancelled {
            guard let page = await store.page(of: generation, after: last, limit: Limits.walkRows)
            else {
                report.isCutShort = true
                return false
            }
            for row in page.rows where part.contains(row.id) {
                await send(row, generation)
                if Task.isCancelled { return false }
            }
            for place in open.indices { flush(place) }
            await settleWhatCame()
            guard let end = page.last, part.contains(end) else { return true }
            last = end
            report.permille = (done * 65_536 + part.position(of: end)) * 1000 / (2 * 65_536)
        }
        return false
    }

    private func send(_ row: StoreRow, _ generation: Generation) async {
        report.rows += 1
        guard let place = gateways.firstIndex(where: { $0.service == row.token.service }) else {
            report.unserved += 1
            return
        }
        guard seen.insert(row.token) else {
            report.duplicates += 1
            return
        }
        while unsettled.isFull, !Task.isCancelled {
            for place in open.indices { flush(place) }
            await settle()
        }
        // Looked at after the wait: the gateway may have stopped meanwhile.
        guard open[place] != nil else {
            report.unsent += 1
            return
        }
        let slot = unsettled.insert(
            UnsettledRows.Row(row: row, generation: generation, gateway: place))
        outgoing[place].append(WakeUp(reference: slot, token: row.token))
        if outgoing[place].count >= Self.parcel { flush(place) }
    }

    private func flush(_ place: Int) {
        guard !outgoing[place].isEmpty else { return }
        open[place]?.send(outgoing[place])
        outgoing[place].removeAll(keepingCapacity: true)
    }

    // MARK: Settling

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
        await removeGone()
        tell()
    }

    private func take(_ note: RoundInbox.Note) {
        switch note.report {
        case .settled(let wakeUps):
            for wakeUp in wakeUps {
                let row = unsettled.remove(wakeUp.reference)
                switch wakeUp.delivery {
                case .accepted: report.accepted += 1
                case .retry: report.retry += 1
                case .gone:
                    report.gone += 1
                    gone.append(row)
                }
            }
        case .failed(let failure):
            open[note.gateway] = nil
            outgoing[note.gateway] = []
            report.unsent += unsettled.removeAll(of: note.gateway)
            let service = gateways[note.gateway].service
            log(.gatewayStopped(service, failure))
            report.stopped[String(describing: service.word)] = failure.message
        }
    }

    private func removeGone() async {
        guard !gone.isEmpty else { return }
        let rows = gone.map { (row: $0.row, generation: $0.generation) }
        gone = []
        await store.removeIfUnchanged(rows)
    }

    private func tell() {
        report.milliseconds = Int((ContinuousClock.now - start) / .milliseconds(1))
        publish(report)
    }
}

/// A stretch of ids by their first two bytes.
struct IDRange: Equatable {
    let prefixes: ClosedRange<UInt16>

    /// The whole space in at most two stretches, from `start` on and then up to it.
    static func wrapping(from start: UInt16) -> [IDRange] {
        let first = IDRange(prefixes: start...UInt16.max)
        return start == 0 ? [first] : [first, IDRange(prefixes: 0...(start - 1))]
    }

    /// The id after which a page begins with this stretch; empty for the very first.
    var before: [UInt8] {
        guard prefixes.lowerBound > 0 else { return [] }
        let prefix = prefixes.lowerBound - 1
        let rest = [UInt8](repeating: 0xFF, count: Limits.idBytes - 2)
        return [UInt8(prefix >> 8), UInt8(prefix & 0xFF)] + rest
    }

    func contains(_ id: [UInt8]) -> Bool { prefixes.contains(Self.prefix(id)) }

    /// How many prefixes of the wrapped walk lie before this id, when it began at `lowerBound` of
    /// its first stretch.
    func position(of id: [UInt8]) -> Int {
        let prefix = Int(Self.prefix(id))
        let isFirst = prefixes.upperBound == UInt16.max
        return isFirst
            ? prefix - Int(prefixes.lowerBound)
            : 65_535 - Int(prefixes.upperBound) + prefix
    }

    private static func prefix(_ id: [UInt8]) -> UInt16 { UInt16(id[0]) << 8 | UInt16(id[1]) }
}
