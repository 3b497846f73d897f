import CReveille
import Reveille

/// The numbers of a warning, see `reveille_warning`.
struct WarningValues {
    var code: Int32 = 0
    var number: Int64 = 0
    var first: UInt64 = 0
    var last: UInt64 = 0
    var since: Int64 = 0

    init(_ warning: Warning) {
        let code: reveille_warning_code
        switch warning {
        case .silence(let days): (code, number) = (REVEILLE_WARNING_SILENCE, Int64(days))
        case .notChecked(let first, let last, let since):
            (code, self.since) = (REVEILLE_WARNING_NOT_CHECKED, since.wholeSeconds)
            (self.first, self.last) = (first, last)
        case .secretsUnreadable: code = REVEILLE_WARNING_SECRETS_UNREADABLE
        case .unusableSecrets(let count):
            (code, number) = (REVEILLE_WARNING_UNUSABLE_SECRETS, Int64(count))
        case .lostBatches(let first, let last):
            (code, self.first, self.last) = (REVEILLE_WARNING_LOST_BATCHES, first, last)
        case .fork(let sequence):
            (code, first, last) = (REVEILLE_WARNING_FORK, sequence, sequence)
        case .gap(let first, let last):
            (code, self.first, self.last) = (REVEILLE_WARNING_GAP, first, last)
        case .stale: code = REVEILLE_WARNING_STALE
        case .noQuorum: code = REVEILLE_WARNING_NO_QUORUM
        case .otherHistory: code = REVEILLE_WARNING_OTHER_HISTORY
        case .staleCosignature: code = REVEILLE_WARNING_STALE_COSIGNATURE
        case .clockSkew(let time):
            (code, number) = (REVEILLE_WARNING_CLOCK_SKEW, time.wholeSeconds)
        case .badFeed: code = REVEILLE_WARNING_BAD_FEED
        case .rollback: code = REVEILLE_WARNING_ROLLBACK
        case .stateReset: code = REVEILLE_WARNING_STATE_RESET
        case .diskFull: code = REVEILLE_WARNING_DISK_FULL
        case .cacheFull: code = REVEILLE_WARNING_CACHE_FULL
        case .retired: code = REVEILLE_WARNING_RETIRED
        case .registrationRefused(let status):
            (code, number) = (REVEILLE_WARNING_REGISTRATION_REFUSED, Int64(status))
        case .distributorFails(let trouble):
            (code, number) = (REVEILLE_WARNING_DISTRIBUTOR_FAILS, trouble.rawValue)
        }
        self.code = Int32(code.rawValue)
    }
}

// MARK: Structures

extension reveille_status {
    init(_ status: ClientStatus) {
        self.init()
        size = MemoryLayout<reveille_status>.size
        running = status.runningSince == nil ? 0 : 1
        check_failure = status.failure?.number ?? 0
        let registration: (state: reveille_registration, failure: ClientError?) =
            switch status.registration {
            case .none: (REVEILLE_REGISTRATION_NONE, nil)
            case .registered: (REVEILLE_REGISTERED, nil)
            case .registering(let failure): (REVEILLE_REGISTERING, failure)
            case .proving: (REVEILLE_PROVING, nil)
            case .unregistering(let failure): (REVEILLE_UNREGISTERING, failure)
            case .suspended: (REVEILLE_SUSPENDED, nil)
            }
        self.registration = Int32(registration.state.rawValue)
        registration_failure = registration.failure?.number ?? 0
        let stream: (state: reveille_stream, http: Int) =
            switch status.stream {
            case .unused: (REVEILLE_STREAM_UNUSED, 0)
            case .connecting: (REVEILLE_STREAM_CONNECTING, 0)
            case .connected: (REVEILLE_STREAM_CONNECTED, 0)
            case .waiting: (REVEILLE_STREAM_WAITING, 0)
            case .refused(let http): (REVEILLE_STREAM_REFUSED, http)
            case .silent: (REVEILLE_STREAM_SILENT, 0)
            }
        self.stream = Int32(stream.state.rawValue)
        stream_http_status = Int32(clamping: stream.http)
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
        let kind: reveille_result
        switch outcome {
        case .success(.upToDate): kind = REVEILLE_UP_TO_DATE
        case .success(.checked(let batches, let matches)):
            kind = REVEILLE_CHECKED
            (self.batches, self.matches) = (UInt64(clamping: batches), UInt64(clamping: matches))
        case .success(.metered(let batches, let matches, let waiting, let until)):
            kind = REVEILLE_METERED
            (self.batches, self.matches) = (UInt64(clamping: batches), UInt64(clamping: matches))
            (self.waiting, self.until) = (UInt64(clamping: waiting), until.wholeSeconds)
        case .success(.behind): kind = REVEILLE_BEHIND
        case .success(.retired): kind = REVEILLE_RETIRED
        case .success(.ignored): kind = REVEILLE_IGNORED
        case .failure(let error):
            kind = REVEILLE_UP_TO_DATE
            if case .httpStatus(let status, _) = error { http_status = Int32(clamping: status) }
        }
        result = Int32(kind.rawValue)
    }
}
