import Synchronization
import WakeSystem

/// A source of addresses for host names: the system's resolver, or one of a test.
package protocol HostResolver: Sendable {
    /// All addresses of `host`, a DNS name in ASCII, each once, in the order in which to try them.
    func addresses(of host: [UInt8]) async throws(ResolveError) -> [IPAddress]
}

/// A failed lookup. Never holds the name.
package enum ResolveError: Error, Sendable, Hashable {
    /// Not a DNS name: an address in any writing, or bytes that no name has.
    case notAName
    /// There is no such name, or it has no address.
    case notFound
    /// No answer within the time limit.
    case timedOut
    /// The name server failed, or there are too many lookups; to be tried again later.
    case temporarily
    case cancelled
}

/// The system's resolver (getaddrinfo(3)) on threads of its own, which end when no lookup waits. A
/// lookup that hangs holds one of `slots` until the system ends it, its caller until `timeLimit`.
package final class SystemResolver: HostResolver {
    /// A lookup that blocks until the answer is there.
    typealias LookUp = @Sendable ([UInt8]) -> Result<[IPAddress], ResolveError>

    /// Lookups that wait for a slot; one more fails as `temporarily`.
    package static let maximumWaiting = 4096

    private struct State {
        var waiting = Deque<PendingLookup>()
        var threads = 0
    }

    private let state = Mutex(State())
    private let slots: Int
    private let timeLimit: Duration
    private let lookUp: LookUp

    /// - Parameter timeLimit: for one lookup, including the wait for a slot.
    package convenience init(slots: Int = 16, timeLimit: Duration = .seconds(10)) {
        self.init(slots: slots, timeLimit: timeLimit, lookUp: NameLookup.addresses(of:))
    }

    init(slots: Int, timeLimit: Duration, lookUp: @escaping LookUp) {
        precondition(slots > 0, "without a slot nothing is looked up")
        self.slots = slots
        self.timeLimit = timeLimit
        self.lookUp = lookUp
    }

    /// - Throws: `notAName` for addresses in every writing that getaddrinfo(3) accepts as one.
    package func addresses(of host: [UInt8]) async throws(ResolveError) -> [IPAddress] {
        guard FetchURL.isName(host[...]) else { throw .notAName }
        let lookup = PendingLookup(host)
        enqueue(lookup)
        let limit = timeLimit
        await lookup.ended.wait(orUntil: { try? await Task.sleep(for: limit) })
        return try lookup.end(.failure(Task.isCancelled ? .cancelled : .timedOut)).get()
    }

    private func enqueue(_ lookup: PendingLookup) {
        let isAccepted = state.withLock { state in
            guard state.waiting.count < Self.maximumWaiting else { return false }
            if state.threads < slots {
                if (try? SystemThread.start { [self] in work() }) != nil {
                    state.threads += 1
                } else if state.threads == 0 {
                    return false
                }
            }
            state.waiting.append(lookup)
            return true
        }
        if !isAccepted { lookup.end(.failure(.temporarily)) }
    }

    private func work() {
        while let lookup = next() {
            lookup.end(lookUp(lookup.host))
        }
    }

    /// The next lookup whose caller still waits; nil ends the thread.
    private func next() -> PendingLookup? {
        state.withLock { state in
            while let lookup = state.waiting.popFirst() {
                if !lookup.hasEnded { return lookup }
            }
            state.threads -= 1
            return nil
        }
    }
}

/// One lookup and its caller. The first end counts: answer, time limit or cancellation.
private final class PendingLookup: Sendable {
    typealias Answer = Result<[IPAddress], ResolveError>

    let host: [UInt8]
    let ended = AsyncEvent()
    private let answer = Mutex<Answer?>(nil)

    init(_ host: [UInt8]) { self.host = host }

    var hasEnded: Bool { answer.withLock { $0 != nil } }

    /// - Returns: the answer that was first.
    @discardableResult
    func end(_ last: Answer) -> Answer {
        defer { ended.signal() }
        return answer.withLock { answer in
            if let answer { return answer }
            answer = last
            return last
        }
    }
}
