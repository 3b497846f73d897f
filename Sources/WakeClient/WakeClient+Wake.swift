// Wakes that the app hands over without waiting for what comes of them.

extension WakeClient {
    /// Asks the client that `run` keeps alive for one cycle, and returns at once: for platform
    /// pushes, from whatever thread they come on.
    ///
    /// Any number of calls before that cycle begins is one call, and calls while a cycle runs ask
    /// for exactly one more. `push` and `wake` wait at random for up to the spread, and are dropped
    /// while the publisher has wakes paused or after `unregister`; the other reasons begin at once.
    /// Called before `run`, it is kept until then. To wait for the outcome, or to look without
    /// `run`, call `synchronize(_:)` instead.
    public nonisolated func wake(_ reason: SyncReason = .push) {
        wakeBox.add(reason)
        cycleBell.ring()
    }

    /// Turns what came by `wake` into requests for a cycle.
    func takeUpWakes() throws(ClientError) {
        let wakes = wakeBox.take()
        if wakes.isUrgent { ask(.init()) }
        if let request = wakes.shared, try isListening() { askSpread(request) }
    }
}
