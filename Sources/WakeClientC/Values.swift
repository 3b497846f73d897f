import CReveille
import Reveille

extension reveille_status {
    init(_ status: ClientStatus) {
        self.init()
        size = MemoryLayout<reveille_status>.size
        running = status.runningSince == nil ? 0 : 1
        check_failure = status.failure?.number ?? 0
        registration = status.registration.number
        registration_failure = status.registration.failure?.number ?? 0
        stream = status.stream.number
        stream_http_status = Int32(clamping: status.stream.status ?? 0)
        retired = status.isRetired ? 1 : 0
        forked = status.isForked ? 1 : 0
        shares_origin = status.sharesOrigin ? 1 : 0
        former_services = Int32(clamping: status.formerServices)
        sequence = status.sequence
        first_unchecked = status.unchecked?.lowerBound ?? 0
        last_unchecked = status.unchecked?.upperBound ?? 0
        matches_waiting = UInt64(clamping: status.matchesToDeliver)
        batches_waiting = UInt64(clamping: status.batchesWaiting)
        waiting_until = status.waitingUntil?.wholeSeconds ?? 0
        last_verified = status.lastVerified?.wholeSeconds ?? 0
        last_checked = status.lastChecked?.wholeSeconds ?? 0
        paused_until = status.pausedUntil?.wholeSeconds ?? 0
        running_since = status.runningSince?.wholeSeconds ?? 0
        next_check = status.nextCheck?.wholeSeconds ?? 0
    }
}

extension reveille_outcome {
    init(_ outcome: Result<SyncOutcome, ClientError>) {
        self.init()
        size = MemoryLayout<reveille_outcome>.size
        switch outcome {
        case .success(let success):
            let figures = success.figures
            result = figures.number
            (batches, matches) = (UInt64(figures.batches), UInt64(figures.matches))
            (waiting, until) = (UInt64(figures.waiting), figures.until?.wholeSeconds ?? 0)
        case .failure(.httpStatus(let status, _)): http_status = Int32(clamping: status)
        case .failure: break
        }
    }
}
