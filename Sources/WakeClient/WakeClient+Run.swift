import WakeFeed

// The client's life: it listens, polls, reconciles and tells until its task is cancelled.

extension WakeClient {
    /// Listens, polls, keeps the registration as wished and tells matches, until the task is
    /// cancelled (then it returns) or the feed is retired and nothing is left to unregister.
    /// - Throws: `state` when the state can no longer be used; `locked` when it runs already.
    public func run() async throws(ClientError) {
        guard !isRunning else { throw .locked }
        isRunning = true
        defer { isRunning = false }
        try shortenRegistrationWait()
        environment.log(.started)
        defer { environment.log(.stopped) }
        let doorbell = Doorbell(directory.path) { [cycleBell, registrationBell, tellingBell] in
            for bell in [cycleBell, registrationBell, tellingBell] { bell.ring() }
        }
        defer { doorbell?.close() }
        let failure = await withTaskGroup(of: LoopEnd.self) { group in
            group.addTask { await self.loop { () throws(ClientError) in try await self.look() } }
            group.addTask { await self.poll() }
            group.addTask {
                await self.loop { () throws(ClientError) in try await self.keepRegistration() }
            }
            group.addTask {
                await self.loop { () throws(ClientError) in try await self.keepTelling() }
            }
            if channel == .stream { group.addTask { await self.listen() } }
            let end = await group.next()
            group.cancelAll()
            return end?.failure
        }
        if let failure { throw failure }
    }

    /// How one of the loops came to its end.
    enum LoopEnd: Sendable, Equatable {
        case cancelled
        case retired
        case failed(ClientError)

        var failure: ClientError? {
            if case .failed(let error) = self { error } else { nil }
        }
    }

    /// What a loop says after one turn.
    enum Turn: Sendable, Equatable {
        case again
        case retired
    }

    /// Repeats `turn` until the task is cancelled. A full disk may get room again; any other
    /// fault of the state ends the run, for a supervisor to see.
    private func loop(
        _ turn: () async throws(ClientError) -> Turn
    ) async -> LoopEnd {
        while !Task.isCancelled {
            do throws(ClientError) {
                if try await turn() == .retired { return .retired }
            } catch {
                switch error {
                case .cancelled: continue
                case .diskFull:
                    await tellOfFullDisk()
                    await environment.sleep(.seconds(60))
                default: return .failed(error)
                }
            }
        }
        return .cancelled
    }

    // MARK: Cycles

    /// Asks for a cycle.
    func ask(_ request: CycleGate.Request, after delay: Duration = .zero) {
        gate.ask(request, at: environment.uptime() + delay)
        newestAsk = cyclesBegun
        cycleBell.ring()
    }

    /// Asks for a cycle that all clients are asked for at the same time, each in its own place.
    func askSpread(_ request: CycleGate.Request) {
        gate.ask(request, at: placeInSpread(), isDrawn: true)
        newestAsk = cyclesBegun
        cycleBell.ring()
    }

    /// Waits for the next cycle that is due, and runs it.
    private func look() async throws(ClientError) -> Turn {
        do throws(ClientError) {
            try await recheckRetained()
        } catch {
            switch error {
            case .state, .diskFull, .cancelled: throw error
            // The cycle meets the same fault, and backs off.
            default: break
            }
        }
        try takeUpWakes()
        let now = environment.uptime()
        guard let start = gate.nextStart else {
            await cycleBell.wait(for: nil, in: environment)
            return .again
        }
        guard start <= now, let request = gate.begin(at: now) else {
            await cycleBell.wait(for: start - now, in: environment)
            return .again
        }
        var end = CycleGate.End.cancelled
        defer { conclude(end, of: request) }
        do throws(ClientError) {
            let outcome = try await sharedCycle(
                hint: request.hint == 0 ? nil : request.hint, since: newestAsk)
            end = Self.end(outcome)
        } catch {
            switch error {
            case .cancelled: break
            case .state:
                end = .failed(retryAfter: nil)
                throw error
            case .diskFull:
                end = .failed(retryAfter: nil)
                await tellOfFullDisk()
            case .httpStatus(_, let retryAfter?):
                // RFC 9110 §10.2.3, but never for longer than six hours.
                end = .failed(retryAfter: .seconds(Int64(min(max(retryAfter, 0), 21_600))))
            default: end = .failed(retryAfter: nil)
            }
        }
        registrationBell.ring()
        return .again
    }

    private func conclude(_ end: CycleGate.End, of request: CycleGate.Request) {
        let orders = record.orders
        let delay = gate.end(
            end, served: request, at: environment.uptime(), cache: orders.cache,
            spread: orders.spread, random: environment.randomUnit())
        newestAsk = cyclesBegun
        if case .failed = end, let lastFailure {
            environment.log(
                .cycleFailed(lastFailure, retrySeconds: Int(delay?.wholeSeconds ?? 0)))
        }
    }

    private static func end(_ outcome: SyncOutcome) -> CycleGate.End {
        switch outcome {
        case .upToDate, .retired, .ignored: .upToDate
        case .checked, .metered: .advanced
        case .behind: .behind
        }
    }

    // MARK: Polling, underneath everything

    private func poll() async -> LoopEnd {
        while !Task.isCancelled {
            ask(.init())
            let start = environment.uptime()
            let random = environment.randomUnit()
            while !Task.isCancelled {
                // Drawn once, and valid for whatever interval the newest head asks for.
                let interval = PollSchedule.interval(
                    pollSeconds: record.pollSeconds, random: random)
                let before = environment.uptime()
                let rest = start + interval - before
                if rest <= .zero { break }
                let nap = min(rest, .seconds(300))
                await environment.sleep(nap)
                await warnOfSilence()
                // More time went by than was slept: the machine was suspended.
                if environment.uptime() - before > nap + .seconds(60) { break }
            }
        }
        return .cancelled
    }

    private func warnOfSilence() async {
        var next = record
        guard let warning = next.watch.silence(now: environment.wallSeconds()) else {
            // Written down, or every start would begin to count anew.
            if next != record { _ = try? save(next, as: .feed) }
            record = next
            return
        }
        do throws(ClientError) {
            try save(next, warnings: [warning], as: .feed)
        } catch {
            // The state cannot be written: say it all the same, and again after a restart.
            record = next
            await handler.handle(warning)
        }
    }

    // MARK: Registration and outbox

    private func keepRegistration() async throws(ClientError) -> Turn {
        let next = try await reconcile()
        let wish = try clientError { () throws(StateError) in try state.wish() }
        if record.orders.isRetired, wish == nil, record.warned.contains(.retired) {
            try await tell()
            return .retired
        }
        await registrationBell.wait(for: wait(until: next), in: environment)
        return .again
    }

    private func keepTelling() async throws(ClientError) -> Turn {
        try await tell()
        let next = try clientError { () throws(StateError) in try state.nextTelling() }
        await tellingBell.wait(for: wait(until: next), in: environment)
        return .again
    }

    /// From a time of the wall clock to a wait. At most an hour: that clock may be set.
    private func wait(until time: Int64?) -> Duration? {
        time.map { .seconds(min(max($0 - environment.wallSeconds(), 1), 3600)) }
    }
}
