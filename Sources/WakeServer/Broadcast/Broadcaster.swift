import Synchronization
import WakeHTTP
import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// Wakes everyone: on request, when the watched feed has something new, and at every heartbeat.
/// Event streams get the event at once; the push services get a ``BroadcastRun``, one at a time, no
/// sooner than the schedule allows and no faster than the plan.
final class Broadcaster: Sendable {
    enum Outcome: Equatable, Sendable {
        case started(BroadcastStart)
        case notNewer
        /// The state file could not be written: nothing was sent.
        case stateUnwritable
    }

    private struct State {
        var report = BroadcastReport()
        /// Of the run that goes on, with its number.
        var running: (run: UInt64, control: RunControl)?
        var repeated = RepeatedPushes()
        var ended = RunCounters()
        var trippedRuns = TrippedRuns()
        var scheduled: UInt64?
    }

    let schedule: ScheduleStore
    private let feed: FeedMonitor
    private let planner: BroadcastPlanner
    private let checkpoints: CheckpointFile
    private let rotator: Rotator
    private let log: Log
    private let didEnd: @Sendable (Broadcaster) -> Void
    private let state = Mutex(State())
    private let event = AsyncEvent()
    private let room: RoomOnFullDisk
    let broadcasts = Counter("broadcasts", "broadcasts started")
    let streamWakeUps = Counter("stream_wake_ups", "wake-ups on event streams")

    private static let retryDelay = Duration.seconds(30)
    /// Room for the checkpoint and the schedule, with their temporary files and directory entries.
    private static let stateBytes = Checkpoint.byteCount + (1 << 16)

    init(
        _ planner: BroadcastPlanner, feed: FeedMonitor, schedule: ScheduleStore,
        checkpoints: CheckpointFile, rotator: Rotator, log: Log,
        didEnd: @escaping @Sendable (Broadcaster) -> Void
    ) {
        self.feed = feed
        self.planner = planner
        self.schedule = schedule
        self.checkpoints = checkpoints
        self.rotator = rotator
        self.log = log
        self.didEnd = didEnd
        room = RoomOnFullDisk { await planner.store.giveRoom(Self.stateBytes) }
    }

    var report: BroadcastReport { state.withLock { $0.report } }

    var totals: RunCounters {
        state.withLock { state in
            var totals = state.ended
            if state.report.isRunning { totals.add(state.report.counters) }
            return totals
        }
    }

    /// Requests a broadcast; `force`: although the feed has nothing newer.
    func broadcast(force: Bool) async -> Outcome {
        let hasGateways = !planner.gateways.isEmpty
        let sequence = feed.sequence()
        let answer = await change { schedule, now in
            let before = schedule.history
            let asked = schedule.ask(sequence: sequence, force: force, now: now)
            if case .waits = asked, !hasGateways {
                schedule.streamsWoken(sequence: sequence, now: now)
            }
            return (asked, before)
        }
        switch answer {
        case nil: return .stateUnwritable
        case (.notNewer, _)?: return .notNewer
        case (.waits(let seconds), let before)?:
            let streams = wakeStreams(sequence, .asked)
            if !hasGateways { didEnd(self) }
            event.signal()
            return .started(
                BroadcastStart(
                    sequence: sequence, streams: streams,
                    run: hasGateways ? Int(clamping: before.run + 1) : 0,
                    seconds: seconds, joins: hasGateways && before.pending.contains(.asked),
                    follows: before.isRunning ? before.run : nil,
                    paused: feed.pausedUntil.map { $0 - Int64(SystemClock.wallSeconds) }))
        }
    }

    /// Ends the run that goes on, and drops requests that wait, from any thread: what has not left
    /// does not leave any more.
    /// - Parameter report: gets the number of the run, 0 when requests alone were dropped; nil when
    ///   there was neither.
    func end(report: @escaping @Sendable (UInt64?) -> Void) {
        schedule.change {
            $0.cancel(now: $1)
        } then: { [self] hadRequests in
            let running = state.withLock { $0.running }
            running?.control.end()
            report(running?.run ?? (hadRequests == true ? 0 : nil))
        }
    }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [event, rotator] in
                while !Task.isCancelled {
                    try? await Task.sleep(for: .seconds(1))
                    await rotator.tick()
                    event.signal()
                }
            }
            group.addTask { [feed, log] in await feed.run(log) }
            await resume()
            while !Task.isCancelled {
                await event.wait()
                guard !Task.isCancelled else { break }
                await rotator.rotateIfDue()
                await checkFeed()
                while !Task.isCancelled, case .start(let reasons) = schedule.decide() {
                    guard await start(reasons) else { break }
                }
            }
            group.cancelAll()
        }
        await rotator.stop()
    }

    private func checkFeed() async {
        guard let sequence = feed.newSequence(), state.withLock({ $0.scheduled != sequence })
        else { return }
        let isNew = await schedule.change { $0.headSeen(sequence: sequence, now: $1) }
        // Written down once: not every second, and not while it waits for its hour.
        guard let isNew else { return }
        state.withLock { $0.scheduled = sequence }
        if isNew { log(.headSeen(sequence: sequence)) }
    }

    /// - Returns: the number of open event streams.
    @discardableResult
    private func wakeStreams(_ sequence: UInt64, _ reasons: BroadcastReasons) -> Int {
        let streams = planner.wakes.count
        log(.broadcastStarted(sequence: sequence, streams: streams, reasons: reasons))
        planner.wakes.publish(WakeEvent(sequence: sequence).encode())
        broadcasts.add()
        streamWakeUps.add(streams)
        return streams
    }

    /// Requests have woken the event streams already. The others do so once it is written down
    /// that they have: what fails is tried again.
    private func wakeStreamsUnlessAsked(_ sequence: UInt64, _ reasons: BroadcastReasons) {
        if reasons != .asked { wakeStreams(sequence, reasons) }
    }

    private func resume() async {
        // A heartbeat is drawn only once, and a crash counts as one more run.
        await changeSchedule { _, _ in }
        let history = schedule.history
        guard history.isRunning else { return await checkpoints.remove() }
        guard let checkpoint = checkpoints.find(), checkpoint.header.run == history.run,
            checkpoint.header.generation == planner.store.generationNumber
        else {
            await schedule.change { $0.lost(now: $1) }
            return await checkpoints.remove()
        }
        await planner.countRegistrations()
        await perform(checkpoint, isResumed: true)
    }

    private func start(_ reasons: BroadcastReasons) async -> Bool {
        let sequence = feed.sequence()
        if planner.gateways.isEmpty { return await startWithoutPushes(sequence, reasons) }
        await planner.countRegistrations()
        if case .failure(let error) = planner.plan() {
            // Late is better than never: see `BroadcastPlanner.pace`.
            log(.planStretched(needed: error.neededSeconds, interval: error.intervalSeconds))
        }
        let header = Checkpoint.Header(
            run: schedule.history.run + 1, sequence: sequence, reasons: reasons,
            generation: planner.store.generationNumber, seed: SystemRandom.word() >> 11,
            blockBits: ScanOrder.blockBits(rows: planner.store.estimatedRows))
        // The checkpoint first: see `BroadcastHistory` for the order of writing.
        guard let checkpoint = await room.write({ await self.checkpoints.create(header) }),
            await change({ $0.started(sequence: sequence, now: $1) }) != nil
        else { return await delayRetry() }
        wakeStreamsUnlessAsked(sequence, reasons)
        await perform(checkpoint)
        return true
    }

    private func startWithoutPushes(_ sequence: UInt64, _ reasons: BroadcastReasons) async -> Bool {
        guard await change({ $0.streamsWoken(sequence: sequence, now: $1) }) != nil
        else { return await delayRetry() }
        wakeStreamsUnlessAsked(sequence, reasons)
        didEnd(self)
        return true
    }

    private func delayRetry() async -> Bool {
        log(.checkpointUnwritable)
        try? await Task.sleep(for: Self.retryDelay)
        return false
    }

    /// Changes the schedule and writes it down; nil: that cannot be, nothing has changed.
    private func change<Value: Sendable>(
        _ body: @escaping @Sendable (inout BroadcastSchedule, ClockReading) -> Value
    ) async -> Value? {
        await room.write { await self.schedule.change(body) }
    }

    /// Changes the schedule as soon as that can be written down: until then no run begins.
    private func changeSchedule(
        _ body: @escaping @Sendable (inout BroadcastSchedule, ClockReading) -> Void
    ) async {
        while await change(body) == nil, !Task.isCancelled { _ = await delayRetry() }
    }

    private func perform(_ checkpoint: Checkpoint, isResumed: Bool = false) async {
        let control = RunControl()
        let run = BroadcastRun(
            checkpoint, control: control, planner: planner.frozen,
            believed: state.withLock { $0.trippedRuns.believed }, recent: recentPushes, log: log,
            mustGiveWay: { await self.isMoreDue(hasArrived: $0, isIdle: $1) }
        ) { report in self.state.withLock { $0.report = report } }
        if isResumed { log(.broadcastResumed(permille: run.start.permille)) }
        state.withLock { state in
            state.running = (checkpoint.header.run, control)
            state.report = run.start
        }
        // Not cancelled with this task: what is in flight gets a moment to complete.
        let work = Task { await run.run() }
        let (last, repeated) = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            control.stop()
        }
        state.withLock { state in
            for tokens in repeated { state.repeated.add(tokens, now: .now) }
        }
        let (isComplete, hasArrived) = (last.isComplete, last.counters.hasArrived)
        await changeSchedule { schedule, now in
            if isComplete {
                schedule.ended(now: now, hasArrived: hasArrived)
            } else {
                schedule.stopping(now: now)
            }
            schedule.learn(last.rates)
        }
        if isComplete { await checkpoints.remove() }
        // A run counts every row once.
        if isComplete, !last.wasEnded {
            await rotator.tell(rows: Int(clamping: last.counters.rows))
        }
        didEnd(self)
        state.withLock { state in
            state.running = nil
            if isComplete {
                state.trippedRuns.record(tripped: last.tripped, accepting: last.accepting)
            }
            state.report = last
            state.report.isRunning = false
            state.ended.add(last.counters)
        }
        log(.broadcastEnded(last))
    }

    /// Whether anything is due that a run must not keep waiting.
    /// - Parameter isIdle: whether minutes may pass before the run goes on.
    private func isMoreDue(hasArrived: Bool, isIdle: Bool) async -> Bool {
        await checkFeed()
        if schedule.isNextDue(hasArrived: hasArrived) { return true }
        guard isIdle else { return false }
        return await rotator.isDue()
    }

    private var recentPushes: RecentPushes {
        let runs = schedule.recentRuns
        return state.withLock { $0.repeated.recent(now: .now, runs: runs) }
    }
}

/// A write of state that a full disk refuses is tried once more, when the store's reserve gives
/// room for it.
struct RoomOnFullDisk: Sendable {
    /// Asks for the room; false when there is none, or when none is missing.
    let give: @Sendable () async -> Bool

    /// - Parameter attempt: nil when it could not write.
    func write<Value: Sendable>(_ attempt: @Sendable () async -> Value?) async -> Value? {
        if let value = await attempt() { return value }
        return await give() ? await attempt() : nil
    }
}

/// A broadcast that was asked for, as the operator's command gets it.
package struct BroadcastStart: Codable, Equatable, Sendable {
    package let sequence: UInt64
    package let streams: Int
    /// Of pushes that follows; 0 when there is no gateway.
    package let run: Int
    /// Until it may start, when that is known.
    package let seconds: Int?
    /// Whether it was asked for already, and waits.
    package let joins: Bool
    /// The running broadcast, after which it starts.
    package let follows: UInt64?
    /// Seconds for which clients ignore wake-ups; nil when they do not.
    package let paused: Int64?
}
