/// The work of a fetch thread: takes commands from its lane, drives libcurl, and tells whoever
/// waits. Made, used and freed on that thread.
final class FetchLoop {
    private let settings: FetchSettings
    private let lane: FetchLane
    private let clock = FetchClock()
    private var queue: FetchQueue<FetchJob>
    private var transfers: [UInt64: Transfer] = [:]
    /// Of `transfers`, those that had no connection yet when they were last looked at.
    private var unconnected: Set<UInt64> = []
    /// Of `transfers`, those whose answer others wait for.
    private var probes: Set<UInt64> = []
    private var failed = FailedAddresses()
    private var stalls = StallWatch()
    /// When the paces have to be looked at, in the clock's patience.
    private var nextJudgement = Duration.zero

    init(settings: FetchSettings, lane: FetchLane) {
        self.settings = settings
        self.lane = lane
        queue = FetchQueue(
            total: settings.configuration.maximumConnections,
            perHost: settings.configuration.connectionsPerHost)
    }

    /// Returns when the lane was closed or nothing came for a while.
    func run() {
        let kept = settings.configuration.idleConnections
        guard let multi = CurlMulti(settings.curl, keeping: kept) else {
            refuseAll()
            return
        }
        lane.attach(multi.waker)
        var idleSince = clock.now
        while true {
            let (commands, isClosed) = lane.take()
            for command in commands { obey(command, multi) }
            if isClosed { endAll(.closed, multi) }
            admit(multi)
            for id in stalls.due(at: clock.now) { transfers[id]?.nudge() }
            multi.perform()
            while let (tag, code) = multi.nextEnded() { ended(UInt64(tag), code, multi) }
            lookForAnswers()
            let wait = min(judge(multi), stalls.next.map { $0 - clock.now } ?? .seconds(60))
            // Into the room that became free; libcurl then does not wait at all.
            admit(multi)
            if !transfers.isEmpty {
                idleSince = clock.now
                multi.wait(max(.zero, wait))
                continue
            }
            let left = idleSince + settings.configuration.linger - clock.now
            if isClosed || left <= .zero {
                if lane.retire() { return }
            } else {
                multi.wait(left)
            }
        }
    }

    // MARK: Beginning

    private func obey(_ command: FetchLane.Command, _ multi: CurlMulti) {
        switch command {
        case .cancel(let id):
            if let job = queue.remove(id) { return job.finish(.failure(.cancelled)) }
            end(id, multi) { $0.result(.cancelled) }
        case .start(let job):
            // The cancellation may have overtaken the job.
            if job.ticket.isCancelled { return job.finish(.failure(.cancelled)) }
            let request = job.request
            queue.add(
                job, id: job.id, to: request.url.origin,
                probes: request.allowsHTTP2 && request.url.scheme == .https)
        }
    }

    /// Starts what may run.
    private func admit(_ multi: CurlMulti) {
        while let turn = queue.next() {
            let job = turn.element
            let now = clock.now
            let addresses = failed.ordered(job.request.pin?.addresses ?? [], at: now)
            let attempt = FetchAttempt(job.request.timeout, addresses: addresses, at: now)
            if let error = start(job, attempt, turn.host, multi) {
                queue.ended(turn.host)
                job.finish(.failure(error))
            } else if turn.isProbe {
                probes.insert(job.id)
            }
        }
    }

    private func start(
        _ job: FetchJob, _ attempt: FetchAttempt, _ host: [UInt8], _ multi: CurlMulti
    ) -> FetchError? {
        do throws(FetchError) {
            let transfer = try Transfer(
                job, attempt, host: host, settings: settings, clock: clock)
            guard multi.add(transfer.easy) else { return .outOfResources }
            transfers[job.id] = transfer
            unconnected.insert(job.id)
            if job.request.allowsHTTP2, settings.curl.forgetsStreams {
                stalls.begin(job.id, host: host, at: clock.now)
            }
            return nil
        } catch {
            return error
        }
    }

    // MARK: Watching

    /// Lets those run that waited for another's answer.
    private func lookForAnswers() {
        for id in probes {
            guard let transfer = transfers[id], transfer.isAnswered else { continue }
            probes.remove(id)
            queue.answered(transfer.host)
        }
    }

    /// Ends the transfers that are too slow. Returns the time until the next has to be judged.
    private func judge(_ multi: CurlMulti) -> Duration {
        for id in unconnected { judge(id, multi) }
        if clock.patience >= nextJudgement {
            nextJudgement = clock.patience + .seconds(60)
            for id in transfers.keys { judge(id, multi) }
        }
        return max(.zero, nextJudgement - clock.patience)
    }

    private func judge(_ id: UInt64, _ multi: CurlMulti) {
        do throws(FetchError) {
            guard let next = try transfers[id]?.judgePace() else { return }
            unconnected.remove(id)
            nextJudgement = min(nextJudgement, clock.patience + next)
        } catch {
            end(id, multi) { $0.result(error) }
        }
    }

    // MARK: Ending

    /// By libcurl's code; a pinned request may have another address to try.
    private func ended(_ id: UInt64, _ code: Int32, _ multi: CurlMulti) {
        guard let transfer = transfers[id] else { return }
        if let address = transfer.attempt.address {
            if transfer.failedToConnect(code: code) {
                failed.note(address, at: clock.now)
                if let next = transfer.attempt.next(at: clock.now) {
                    return retry(transfer, next, multi)
                }
            } else if transfer.isAnswered {
                failed.forget(address)
            }
        }
        end(id, multi) { $0.result(code: code) }
    }

    private func retry(_ transfer: Transfer, _ attempt: FetchAttempt, _ multi: CurlMulti) {
        let job = transfer.job
        multi.remove(transfer.easy)
        guard let error = start(job, attempt, transfer.host, multi) else { return }
        end(job.id, multi) { _ in .failure(error) }
    }

    private func endAll(_ error: FetchError, _ multi: CurlMulti) {
        for job in queue.removeAll() { job.finish(.failure(error)) }
        for id in transfers.keys {
            end(id, multi) { $0.result(error) }
        }
    }

    /// Nothing is left of the transfer when whoever waits hears of its end.
    private func end(
        _ id: UInt64, _ multi: CurlMulti,
        _ result: (Transfer) -> Result<FetchResponse, FetchError>
    ) {
        guard let transfer = transfers.removeValue(forKey: id) else { return }
        multi.remove(transfer.easy)
        unconnected.remove(id)
        probes.remove(id)
        stalls.end(id)
        queue.ended(transfer.host)
        transfer.job.finish(result(transfer))
    }

    /// There is not even memory for a multi handle.
    private func refuseAll() {
        repeat {
            for case .start(let job) in lane.take().commands {
                job.finish(.failure(.outOfResources))
            }
        } while !lane.retire()
    }
}
