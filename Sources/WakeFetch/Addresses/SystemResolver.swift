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
    /// No answer within its time.
    case timedOut
    /// The name server failed, or there is no thread; to be tried again later.
    case temporarily
    case cancelled
}

/// The system's resolver (getaddrinfo(3)) on threads of its own, which end when no lookup waits.
/// Names that were resolved before go first, then those never asked for, which get two seconds, or
/// one when many wait; those that were not answered in it go last, with five. So a thousand
/// names whose servers are silent hold up nobody else. A lookup that hangs keeps its thread, but
/// not its slot.
package final class SystemResolver: HostResolver {
    /// A lookup that blocks until the answer is there, or a name server has had these seconds.
    typealias LookUp = @Sendable ([UInt8], _ seconds: Int) -> Result<[IPAddress], ResolveError>

    /// The order of names: resolved before, never asked for, late.
    private enum Rank: Int, CaseIterable { case known, new, late }

    private struct State {
        /// By rank, first come first served.
        var waiting = Rank.allCases.map { _ in Deque<PendingLookup>() }
        var ranks: [[UInt8]: Rank] = [:]
        var threads = 0
        /// Lookups that have had their time, with threads that still wait for the system.
        var hung: Set<ObjectIdentifier> = []
    }

    /// Names whose rank is remembered.
    private static let remembered = 1 << 16

    private let state = Mutex(State())
    private let slots: Int
    private let lateSeconds: Int
    private let lookUp: LookUp

    package convenience init() {
        self.init(slots: 512, lateSeconds: 5) { NameLookup.addresses(of: $0, seconds: $1) }
    }

    /// - Parameters:
    ///   - slots: threads with a lookup that has not had its time; as many may hang.
    ///   - lateSeconds: the time of a lookup after one without an answer.
    init(slots: Int, lateSeconds: Int, lookUp: @escaping LookUp) {
        precondition(slots > 0, "without a slot nothing is looked up")
        self.slots = slots
        self.lateSeconds = lateSeconds
        self.lookUp = lookUp
    }

    /// - Throws: `notAName` for addresses in every writing that getaddrinfo(3) accepts as one.
    package func addresses(of host: [UInt8]) async throws(ResolveError) -> [IPAddress] {
        guard FetchURL.isName(host[...]) else { throw .notAName }
        let lookup = PendingLookup(host)
        let isStarted = state.withLock { state in
            state.waiting[(state.ranks[host] ?? .new).rawValue].append(lookup)
            startThread(&state)
            return state.threads > 0
        }
        guard isStarted else { throw .temporarily }
        await lookup.ended.wait()
        return try lookup.end(.failure(.cancelled)).get()
    }

    private func startThread(_ state: inout State) {
        let isRoom = state.threads - state.hung.count < slots && state.threads < 2 * slots
        guard isRoom, state.waiting.contains(where: { !$0.isEmpty }) else { return }
        if (try? SystemThread.start { [self] in work() }) != nil { state.threads += 1 }
    }

    private func work() {
        while let (lookup, seconds) = next() {
            let alarm = Task { [self] in
                // A second more, in which a name server's time ends.
                guard (try? await Task.sleep(for: .seconds(seconds + 1))) != nil else { return }
                abandon(lookup)
            }
            let answer = lookUp(lookup.host, seconds)
            alarm.cancel()
            state.withLock { state in
                _ = state.hung.remove(ObjectIdentifier(lookup))
                Self.remember(answer, of: lookup.host, &state)
            }
            lookup.end(answer)
        }
    }

    /// The next lookup whose caller still waits, and its seconds; nil ends the thread.
    private func next() -> (PendingLookup, seconds: Int)? {
        state.withLock { state in
            for rank in Rank.allCases where state.threads - state.hung.count <= slots {
                while let lookup = state.waiting[rank.rawValue].popFirst() {
                    guard !lookup.hasEnded else { continue }
                    let areMany = state.waiting[Rank.new.rawValue].count > slots
                    return (lookup, rank == .late ? lateSeconds : areMany ? 1 : 2)
                }
            }
            state.threads -= 1
            return nil
        }
    }

    private func abandon(_ lookup: PendingLookup) {
        let answer = PendingLookup.Answer.failure(.timedOut)
        state.withLock { state in
            guard !lookup.hasEnded else { return }
            state.hung.insert(ObjectIdentifier(lookup))
            Self.remember(answer, of: lookup.host, &state)
            startThread(&state)
        }
        lookup.end(answer)
    }

    private static func remember(
        _ answer: PendingLookup.Answer, of host: [UInt8], _ state: inout State
    ) {
        if state.ranks.count >= remembered { state.ranks = [:] }
        switch answer {
        case .success: state.ranks[host] = .known
        case .failure(.temporarily), .failure(.timedOut): state.ranks[host] = .late
        case .failure(.notAName), .failure(.notFound), .failure(.cancelled): state.ranks[host] = nil
        }
    }
}

/// One lookup and its caller. The first end counts: answer, time or cancellation.
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
