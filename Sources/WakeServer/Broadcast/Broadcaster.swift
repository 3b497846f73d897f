import Synchronization
import WakeHTTP
import WakeModel
import WakePush
import WakeStore

/// Wakes everyone: when asked, when the feed it watches has something new, and at every heartbeat.
/// Event streams are told at once; the push services get a round, one at a time, no sooner than
/// the schedule allows and no faster than the plan.
final class Broadcaster: Sendable {
    enum Outcome: Equatable, Sendable {
        /// - `round`: of pushes that follows; 0 when there is no gateway.
        /// - `seconds`: until it may start, when that is known.
        case started(sequence: UInt64, streams: Int, round: UInt64, seconds: Int?)
        /// The feed has nothing newer than the last broadcast.
        case notNewer
        /// The plan would not be over before the next heartbeat: nothing was sent.
        case doesNotFit
        /// The state file could not be written: nothing was sent.
        case stateUnwritable
    }

    private struct State {
        var report = BroadcastReport()
        /// Of all rounds of this run of the service that have ended.
        var ended = RoundCounters()
        /// Of the head that the schedule was told of.
        var noticed: UInt64?
    }

    private let wakes: StreamHub
    private let watch: FeedWatch
    private let store: Store
    private let gateways: [any Gateway]
    private let planner: BroadcastPlanner
    private let log: Log
    let desk: BroadcastDesk
    private let file: RoundFile
    /// Has its turn between two rounds.
    private let rotator: Rotator
    /// Told when everyone has been woken, or as many as could be.
    private let ended: @Sendable (Broadcaster) -> Void
    private let state = Mutex(State())
    private let bell: AsyncStream<Void>
    private let ringer: AsyncStream<Void>.Continuation
    let broadcasts = Atomic<Int>(0)
    let streamWakeUps = Atomic<Int>(0)

    init(
        wakes: StreamHub, watch: FeedWatch, store: Store, gateways: [any Gateway],
        planner: BroadcastPlanner, desk: BroadcastDesk, file: RoundFile, rotator: Rotator,
        log: Log, ended: @escaping @Sendable (Broadcaster) -> Void
    ) {
        self.wakes = wakes
        self.watch = watch
        self.store = store
        self.gateways = gateways
        self.planner = planner
        self.desk = desk
        self.file = file
        self.rotator = rotator
        self.log = log
        self.ended = ended
        (bell, ringer) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The round that runs, or the last one.
    var report: BroadcastReport { state.withLock { $0.report } }

    /// Sums over all rounds of this run of the service.
    var totals: RoundCounters {
        state.withLock { state in
            var totals = state.ended
            if state.report.isRunning { totals.add(state.report.counters) }
            return totals
        }
    }

    /// Any thread; returns at once.
    /// - Parameters:
    ///   - force: broadcast although the feed has nothing newer.
    ///   - report: told once it has been done, put on the schedule, or refused.
    func broadcast(force: Bool, report: @escaping @Sendable (Outcome) -> Void) {
        if !gateways.isEmpty, case .failure = planner.plan() { return report(.doesNotFit) }
        let sequence = watch.sequence()
        let hasGateways = !gateways.isEmpty
        desk.change { schedule, now in
            let asked = schedule.ask(sequence: sequence, force: force, now: now)
            if case .waits = asked, !hasGateways {
                schedule.toldStreams(sequence: sequence, now: now)
            }
            return (asked, hasGateways ? schedule.history.round + 1 : 0)
        } then: { [self] answer in
            switch answer {
            case nil: report(.stateUnwritable)
            case (.notNewer, _)?: report(.notNewer)
            case (.waits(let seconds), let round)?:
                let streams = tellStreams(sequence, .asked)
                if !hasGateways { ended(self) }
                ringer.yield()
                report(
                    .started(sequence: sequence, streams: streams, round: round, seconds: seconds))
            }
        }
    }

    /// Does what the schedule says until the task is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [ringer] in
                while !Task.isCancelled {
                    try? await Task.sleep(for: .seconds(1))
                    ringer.yield()
                }
            }
            group.addTask { [watch, log] in await watch.run(log) }
            await resume()
            for await _ in bell {
                await rotator.turn()
                await look()
                while !Task.isCancelled, case .start(let reasons) = desk.decide() {
                    guard await start(reasons) else { break }
                }
            }
            group.cancelAll()
        }
        await rotator.stop()
    }

    // MARK: Reasons

    private func look() async {
        guard let sequence = watch.newSequence(),
            state.withLock({ $0.noticed != sequence })
        else { return }
        let isNew = await desk.change { $0.headSeen(sequence: sequence, now: $1) }
        // Written down once: not every second, and not while it waits for its hour.
        guard let isNew else { return }
        state.withLock { $0.noticed = sequence }
        if isNew { log(.headSeen(sequence: sequence)) }
    }

    /// - Returns: how many event streams were open.
    @discardableResult
    private func tellStreams(_ sequence: UInt64, _ reasons: BroadcastReasons) -> Int {
        let streams = wakes.count
        log(.broadcastStarted(sequence: sequence, streams: streams, reasons: reasons))
        wakes.publish(WakeEvent(sequence: sequence).encode())
        broadcasts.add(1, ordering: .relaxed)
        streamWakeUps.add(streams, ordering: .relaxed)
        return streams
    }

    // MARK: Rounds

    /// A round that the run before could not end goes on.
    private func resume() async {
        // What the schedule made of its history: a heartbeat that was drawn is not drawn again at
        // the next start, and a crash counts as one more round.
        await note { _, _ in }
        let history = desk.history
        guard history.isRunning else { return await file.remove() }
        guard let record = file.find(), record.header.round == history.round,
            record.header.generation == store.generationNumber
        else {
            await desk.change { $0.lost(now: $1) }
            return await file.remove()
        }
        let progress = record.done.progress(previousRows: 0, currentRows: 1)
        log(.roundResumed(permille: Int(progress * 1000)))
        await work(record)
    }

    /// - Returns: false when it has to wait.
    private func start(_ reasons: BroadcastReasons) async -> Bool {
        let sequence = watch.sequence()
        if gateways.isEmpty { return await tellStreamsAlone(sequence, reasons) }
        if case .failure(let refusal) = planner.plan() {
            log(.planRefused(needed: refusal.neededSeconds, interval: refusal.intervalSeconds))
            return await tellStreamsAlone(sequence, reasons)
        }
        var random = SystemRandomNumberGenerator()
        let header = RoundHeader(
            round: desk.history.round + 1, sequence: sequence, reasons: reasons,
            generation: store.generationNumber, started: .system(), using: &random)
        // The record first: see `BroadcastHistory` for what order of writing no crash disturbs.
        guard let record = await file.create(header),
            await desk.change({ $0.started(sequence: sequence, now: $1) }) != nil
        else {
            log(.roundUnwritable)
            try? await Task.sleep(for: .seconds(30))
            return false
        }
        tellUnlessTold(sequence, reasons)
        await work(record)
        return true
    }

    /// - Returns: false when it could not be written down: then nobody was told.
    private func tellStreamsAlone(_ sequence: UInt64, _ reasons: BroadcastReasons) async -> Bool {
        guard await desk.change({ $0.toldStreams(sequence: sequence, now: $1) }) != nil else {
            log(.roundUnwritable)
            try? await Task.sleep(for: .seconds(30))
            return false
        }
        tellUnlessTold(sequence, reasons)
        ended(self)
        return true
    }

    /// Only once it is written down that they are: what fails is tried again, and again.
    private func tellUnlessTold(_ sequence: UInt64, _ reasons: BroadcastReasons) {
        // Those who were asked for have told the event streams already.
        if reasons != .asked { tellStreams(sequence, reasons) }
    }

    /// Works on a round until it has ended, or the program stops.
    private func work(_ record: RoundRecord) async {
        let inbox = RoundInbox()
        // Not cancelled with this task: what is in flight is to land first.
        let work = Task { [self] in await workToTheEnd(record, inbox) }
        let last = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            inbox.stop()
        }
        if last.isComplete {
            await note { $0.ended(now: $1) }
            await file.remove()
        } else {
            await note { $0.stopping(now: $1) }
        }
        state.withLock { state in
            state.report = last
            state.report.isRunning = false
            state.ended.add(last.counters)
        }
        log(.broadcastEnded(BroadcastSummary(last)))
        ended(self)
    }

    /// Notes what has happened, as soon as it can be written down: until then no round begins.
    private func note(
        _ body: @escaping @Sendable (inout BroadcastSchedule, ClockReading) -> Void
    ) async {
        while await desk.change(body) == nil, !Task.isCancelled {
            log(.roundUnwritable)
            try? await Task.sleep(for: .seconds(30))
        }
    }

    private func workToTheEnd(
        _ record: RoundRecord, _ inbox: RoundInbox
    ) async -> BroadcastReport {
        let journal = RoundJournal(record, log: log)
        var report = BroadcastReport(record)
        state.withLock { $0.report = report }
        while true {
            let round = BroadcastRound(
                report, journal: journal, inbox: inbox, store: store, gateways: gateways,
                settings: planner.settings(), log: log
            ) { report in
                self.state.withLock { $0.report = report }
            }
            report = await round.run()
            // A store that cannot be read now may be read again.
            guard report.isCutShort, !inbox.isStopping else { return report }
            report.isCutShort = false
            (report.startCounters, report.startPermille) = (report.counters, report.permille)
            journal.again()
            try? await Task.sleep(for: .seconds(5))
        }
    }
}
