// The outbox: what was found is told at least once, whatever happens in between.
import WakeFeed

extension WakeClient {
    /// Tells what waits to be told and is due. One at a time; a second call returns at once.
    func tell() async throws(ClientError) {
        guard !isTelling else { return }
        isTelling = true
        defer { isTelling = false }
        while let next = try clientError({ () throws(StateError) in try state.nextWarning() }) {
            await handler.handle(next.warning)
            guard !Task.isCancelled else { return }
            try clientError { () throws(StateError) in try state.dropWarning(next.id) }
        }
        while let pending = try nextToTell() {
            do {
                // Told, and a full disk had no room to note it: once is enough.
                if !toldUnnoted.contains(pending.match.id) {
                    try await handler.handle(pending.match)
                    toldUnnoted.insert(pending.match.id)
                }
            } catch {
                // A handler that was interrupted did not fail.
                guard !Task.isCancelled else { return }
                try postpone(pending)
                continue
            }
            if held != nil {
                held?.append(pending.match.id)
            } else {
                try note(pending.match.id)
            }
        }
    }

    private func note(_ id: MatchID) throws(ClientError) {
        let now = environment.wallSeconds()
        try clientError { () throws(StateError) in try state.markTold(id, now: now) }
        toldUnnoted.remove(id)
    }

    /// From now on what the handler took counts as told only when `noteTold` says so: for a
    /// handler that collects, and whose collection a crash can take with it.
    package func holdTold() {
        held = held ?? []
    }

    /// The user has what the handler collected.
    package func noteTold() throws(ClientError) {
        while let id = held?.first {
            try note(id)
            held?.removeFirst()
        }
    }

    private func nextToTell() throws(ClientError) -> PendingMatch? {
        guard !Task.isCancelled else { return nil }
        let now = environment.wallSeconds()
        // Those held are still there, and were the first.
        let count = held?.count ?? 0
        guard
            let pending = try clientError({ () throws(StateError) in
                try state.nextToTell(now: now, skipping: count)
            })
        else { return nil }
        guard case .own = source else { return pending }
        let match = pending.match
        return PendingMatch(
            match: Match(id: match.id, secretID: match.secretID, note: match.note),
            failures: pending.failures)
    }

    private func postpone(_ pending: PendingMatch) throws(ClientError) {
        let failures = pending.failures + 1
        let delay = Backoff.telling.delay(
            failures: failures, random: environment.randomUnit(), floor: .seconds(60))
        let time = environment.wallSeconds() + delay.wholeSeconds
        try clientError { () throws(StateError) in
            try state.postpone(pending.match.id, failures: failures, until: time)
        }
        environment.log(.tellingFailed(retrySeconds: Int(delay.wholeSeconds)))
    }

    /// Tells of a full disk, which cannot be written down first.
    func tellOfFullDisk() async {
        guard !hasWarnedOfFullDisk else { return }
        hasWarnedOfFullDisk = true
        await handler.handle(.diskFull)
    }
}
