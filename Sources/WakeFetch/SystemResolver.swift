import Synchronization

/// The system's resolver (getaddrinfo(3)) on threads of its own: a lookup that hangs holds one of
/// `slots` until the system gives it up, and whoever waits for it only `timeLimit`. The threads
/// live as long as there are lookups.
package final class SystemResolver: HostResolver {
    /// Blocks until the answer is there.
    typealias LookUp = @Sendable ([UInt8]) -> Result<[IPAddress], ResolveError>

    /// Lookups that wait for a slot; one more fails as `temporarily`.
    package static let maximumWaiting = 4096

    private struct State {
        var waiting: [PendingLookup] = []
        /// Of `waiting`, what was taken already.
        var taken = 0
        var threads = 0
    }

    private let state = Mutex(State())
    private let slots: Int
    private let timeLimit: Duration
    private let lookUp: LookUp

    /// - Parameters:
    ///   - slots: lookups at once.
    ///   - timeLimit: for one lookup, waiting for a slot included.
    package convenience init(slots: Int = 16, timeLimit: Duration = .seconds(10)) {
        self.init(slots: slots, timeLimit: timeLimit, lookUp: NameLookup.addresses(of:))
    }

    init(slots: Int, timeLimit: Duration, lookUp: @escaping LookUp) {
        precondition(slots > 0, "without a slot nothing is looked up")
        self.slots = slots
        self.timeLimit = timeLimit
        self.lookUp = lookUp
    }

    /// Throws `notAName` for addresses in every writing that getaddrinfo(3) would take for one.
    package func addresses(of host: [UInt8]) async throws(ResolveError) -> [IPAddress] {
        guard FetchURLParts.isName(host[...]) else { throw .notAName }
        let lookup = PendingLookup(host)
        let limit = timeLimit
        let result = await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // Cancelled when the answer was first.
                try? await Task.sleep(for: limit)
                lookup.end(.failure(.timedOut))
            }
            defer { group.cancelAll() }
            return await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    lookup.onEnd(continuation)
                    enqueue(lookup)
                }
            } onCancel: {
                lookup.end(.failure(.cancelled))
            }
        }
        return try result.get()
    }

    private func enqueue(_ lookup: PendingLookup) {
        let isAccepted = state.withLock { state in
            guard state.waiting.count - state.taken < Self.maximumWaiting else { return false }
            state.waiting.append(lookup)
            guard state.threads < slots else { return true }
            if FetchThread.start({ [self] in work() }) {
                state.threads += 1
            } else if state.threads == 0 {
                state.waiting.removeLast()
                return false
            }
            return true
        }
        if !isAccepted { lookup.end(.failure(.temporarily)) }
    }

    /// A thread's whole life.
    private func work() {
        while let lookup = next() {
            lookup.end(lookUp(lookup.host))
        }
    }

    /// The next lookup somebody still waits for; nil ends the thread.
    private func next() -> PendingLookup? {
        state.withLock { state in
            while state.taken < state.waiting.count {
                let lookup = state.waiting[state.taken]
                state.taken += 1
                // Keeps the array from growing with what was done long ago.
                if state.taken == state.waiting.count {
                    state.waiting = []
                    state.taken = 0
                } else if state.taken >= Self.maximumWaiting {
                    state.waiting.removeFirst(state.taken)
                    state.taken = 0
                }
                if !lookup.hasEnded { return lookup }
            }
            state.threads -= 1
            return nil
        }
    }
}
