/// The work of a fetch thread: takes commands from its lane, drives libcurl, and tells whoever
/// waits. Made, used and freed on that thread.
final class FetchLoop {
    private let settings: FetchSettings
    private let lane: FetchLane
    private let clock = FetchClock()
    private var transfers: [UInt64: Transfer] = [:]

    init(settings: FetchSettings, lane: FetchLane) {
        self.settings = settings
        self.lane = lane
    }

    /// Returns when the lane was closed or nothing came for a while.
    func run() {
        guard let multi = CurlMulti(settings.curl) else {
            refuseAll()
            return
        }
        lane.attach(multi.waker)
        var idleSince = clock.now
        while true {
            let (commands, isClosed) = lane.take()
            for command in commands { obey(command, multi) }
            if isClosed { endAll(.closed, multi) }
            multi.perform()
            while let (tag, code) = multi.nextEnded() {
                end(UInt64(tag), multi) { $0.result(code: code) }
            }
            let wait = judgeAll(multi)
            if !transfers.isEmpty {
                idleSince = clock.now
                multi.wait(wait)
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

    private func obey(_ command: FetchLane.Command, _ multi: CurlMulti) {
        switch command {
        case .cancel(let id):
            end(id, multi) { $0.result(.cancelled) }
        case .start(let job):
            // The cancellation may have overtaken the job.
            if job.ticket.isCancelled { return job.finish(.failure(.cancelled)) }
            do throws(FetchError) {
                let transfer = try Transfer(job, settings: settings, clock: clock)
                guard multi.add(transfer.easy) else { throw .outOfResources }
                transfers[job.id] = transfer
            } catch {
                job.finish(.failure(error))
            }
        }
    }

    /// Ends the transfers that are too slow. Returns the time until the next has to be judged.
    private func judgeAll(_ multi: CurlMulti) -> Duration {
        var wait = Duration.seconds(60)
        for (id, transfer) in transfers {
            do throws(FetchError) {
                if let next = try transfer.judgePace() { wait = min(wait, next) }
            } catch {
                end(id, multi) { $0.result(error) }
            }
        }
        return wait
    }

    private func endAll(_ error: FetchError, _ multi: CurlMulti) {
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
