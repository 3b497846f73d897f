import WakeSystem

/// The loop of a fetch thread, confined to it: executes commands, drives libcurl, reports results.
final class FetchLoop {
    private let settings: FetchSettings
    private let worker: FetchWorker
    private let multi: CurlMulti
    private let clock = TransferClock()
    private var queue: FetchQueue<FetchJob>
    private var transfers: [UInt64: Transfer] = [:]
    /// Transfers without a connection at the last check.
    private var unconnected: Set<UInt64> = []
    /// Transfers whose answer others wait for.
    private var probes: Set<UInt64> = []
    private var failed = FailedAddresses()
    private var stalls = StallDetector()
    /// Longer than any transfer may be silent.
    private static let longestWait = Duration.seconds(3600)
    /// The last part of the time until connections are closed, which is kept exactly: libcurl's
    /// milliseconds would show the fraction at which the wait began.
    private static let lastWait = Duration.milliseconds(2)
    /// When the throughput has to be checked next, in the clock's `transferTime`.
    private var nextCheck = Duration.zero

    /// nil when out of memory.
    init?(settings: FetchSettings, worker: FetchWorker) {
        let kept = settings.configuration.idleConnections
        guard let multi = CurlMulti(settings.curl, keeping: kept) else { return nil }
        self.multi = multi
        self.settings = settings
        self.worker = worker
        queue = FetchQueue(
            total: settings.configuration.maximumConnections,
            perHost: settings.configuration.connectionsPerHost)
    }

    /// Returns when the worker was closed, or after `idleTime` without fetches.
    func run() {
        worker.attach(multi.waker)
        var (begun, idleSince, extra) = (clock.now, clock.now, Duration.zero)
        while true {
            var wasBusy = !transfers.isEmpty
            let (commands, isClosed) = worker.removeCommands()
            if !commands.started.isEmpty { begun = clock.now }
            for job in commands.started { add(job) }
            for id in commands.cancelled { cancel(id) }
            if isClosed { endAll(.closed) }
            startAdmitted()
            // One that starts here may end here, if its answer comes quickly.
            wasBusy = wasBusy || !transfers.isEmpty
            for id in stalls.due(at: clock.now) { transfers[id]?.readAgain() }
            multi.perform()
            while let (tag, code) = multi.nextEnded() { ended(UInt64(tag), code) }
            // From the last answer, however long it was waited for.
            if wasBusy {
                idleSince = clock.now
                if transfers.isEmpty {
                    extra = settings.configuration.idleTime / 25 * SystemRandom.unit()
                }
            }
            releaseProbes()
            if transfers.count == 1, let least = transfers.values.first?.takeLeastBytes() {
                multi.wait(forBytes: least)
            }
            let wait = min(
                checkThroughput(), stalls.next.map { $0 - clock.now } ?? Self.longestWait)
            // Into the room that became free; libcurl then does not wait at all.
            startAdmitted()
            if !transfers.isEmpty {
                multi.wait(max(.zero, wait))
                continue
            }
            let left = end(begun, idleSince) + extra - clock.now
            if isClosed || left <= .zero {
                if worker.detachIfIdle() { return }
            } else if left > Self.lastWait {
                multi.wait(left - Self.lastWait)
            } else {
                SystemClock.sleep(
                    until: SystemClock.monotonicNanoseconds + left.wholeNanoseconds)
            }
        }
    }

    /// When idle connections are closed: whole idle times after the last request began, the first
    /// that is half of one or more after its end. A receiver may compute for a moment on what it
    /// gets, and the line must not show for how long. A little more at random hides the rest.
    private func end(_ begun: Duration, _ idleSince: Duration) -> Duration {
        let time = settings.configuration.idleTime
        return begun + time * Int((idleSince - begun) / time + 1.5)
    }

    private func add(_ job: FetchJob) {
        if job.cancellation.isSet { return job.onEnd(.failure(.cancelled)) }
        let request = job.request
        queue.add(
            job, id: job.id, to: request.url.origin + (request.socket ?? "").utf8,
            probes: request.allowsHTTP2 && request.url.scheme == .https)
    }

    private func cancel(_ id: UInt64) {
        if let job = queue.remove(id) { return job.onEnd(.failure(.cancelled)) }
        end(id) { $0.result(.cancelled) }
    }

    private func startAdmitted() {
        while let admission = queue.next() {
            let job = admission.element
            let now = clock.now
            let addresses = failed.ordered(job.request.pin?.addresses ?? [], at: now)
            let attempt = FetchAttempt(job.request.timeout, addresses: addresses, at: now)
            if let error = start(job, attempt, admission.host) {
                queue.ended(admission.host)
                job.onEnd(.failure(error))
            } else if admission.isProbe {
                probes.insert(job.id)
            }
        }
    }

    private func start(_ job: FetchJob, _ attempt: FetchAttempt, _ host: [UInt8]) -> FetchError? {
        do throws(FetchError) {
            let transfer = try Transfer(job, attempt, host: host, settings: settings, clock: clock)
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

    /// Admits the requests that waited for a probe's answer.
    private func releaseProbes() {
        for id in probes {
            guard let transfer = transfers[id], transfer.isAnswered else { continue }
            probes.remove(id)
            queue.answered(transfer.host)
        }
    }

    /// Ends transfers that are too slow; returns the time until the next check.
    private func checkThroughput() -> Duration {
        for id in unconnected { checkThroughput(id) }
        if clock.transferTime >= nextCheck {
            nextCheck = clock.transferTime + Self.longestWait
            for id in transfers.keys { checkThroughput(id) }
        }
        return max(.zero, nextCheck - clock.transferTime)
    }

    private func checkThroughput(_ id: UInt64) {
        do throws(FetchError) {
            guard let next = try transfers[id]?.checkThroughput() else { return }
            unconnected.remove(id)
            nextCheck = min(nextCheck, clock.transferTime + next)
        } catch {
            end(id) { $0.result(error) }
        }
    }

    /// Ends a transfer by libcurl's code, or retries a pinned request at its next address.
    private func ended(_ id: UInt64, _ code: Int32) {
        guard let transfer = transfers[id] else { return }
        if let address = transfer.attempt.address {
            if transfer.failedToConnect(code: code) {
                failed.insert(address, at: clock.now)
                if let next = transfer.attempt.next(at: clock.now) { return retry(transfer, next) }
            } else if transfer.isAnswered {
                failed.remove(address)
            }
        }
        end(id) { $0.result(code: code) }
    }

    private func retry(_ transfer: Transfer, _ attempt: FetchAttempt) {
        let job = transfer.job
        multi.remove(transfer.easy)
        guard let error = start(job, attempt, transfer.host) else { return }
        end(job.id) { _ in .failure(error) }
    }

    private func endAll(_ error: FetchError) {
        for job in queue.removeAll() { job.onEnd(.failure(error)) }
        for id in transfers.keys {
            end(id) { $0.result(error) }
        }
    }

    /// Frees the transfer before its end is reported.
    private func end(_ id: UInt64, _ result: (Transfer) -> Result<FetchResponse, FetchError>) {
        guard let transfer = transfers.removeValue(forKey: id) else { return }
        multi.remove(transfer.easy)
        unconnected.remove(id)
        probes.remove(id)
        stalls.end(id)
        queue.ended(transfer.host)
        transfer.job.onEnd(result(transfer))
    }
}

/// The time of one fetch thread, without suspensions of the machine but for `bootTime`.
final class TransferClock {
    private let bootStart = SystemClock.bootNanoseconds
    private let start = SystemClock.monotonicNanoseconds
    private var spentInSinks = Duration.zero

    var now: Duration { .nanoseconds(SystemClock.monotonicNanoseconds - start) }

    /// `now` without the time spent in sinks, which is not the server's.
    var transferTime: Duration { now - spentInSinks }

    /// As `transferTime`, with suspensions.
    var bootTime: Duration {
        .nanoseconds(SystemClock.bootNanoseconds - bootStart) - spentInSinks
    }

    func excluding(_ body: () -> FetchVerdict) -> FetchVerdict {
        let before = now
        defer { spentInSinks += now - before }
        return body()
    }
}
