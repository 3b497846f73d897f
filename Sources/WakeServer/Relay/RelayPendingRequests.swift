import WakeModel
import WakePush

/// The requests under way: each wake-up's session, and the lines to write. Holds no push token.
struct RelayPendingRequests {
    struct Entry {
        /// By position in the request: the session with the wake-up; 0 without one.
        fileprivate var sessions: [Int]
        fileprivate var left: Int
        fileprivate let due: UInt64
        fileprivate var lines: [UInt8] = []
        fileprivate var counts = RelayCounts()
        fileprivate var stopped: Set<PushService> = []
        fileprivate var isDone = false
    }

    /// The next part of one response.
    struct Output: Equatable {
        let request: Int
        let lines: [UInt8]
        /// nil while there is more to come.
        let end: RelayCounts?
    }

    private var entries: [Int: Entry] = [:]
    private var last = 0
    private var ready: Set<Int> = []

    /// Bits of a reference that are the position in the request.
    private static let positionBits = 10

    var isEmpty: Bool { entries.isEmpty }

    /// - Parameter due: milliseconds when it is given up.
    mutating func open(wakes: Int, due: UInt64) -> Int {
        precondition((0...1 << Self.positionBits).contains(wakes))
        last += 1
        // Without wake-ups it is done at once.
        store(Entry(sessions: [Int](repeating: 0, count: wakes), left: wakes, due: due), last)
        return last
    }

    /// Assigns a wake-up to a session; returns the reference by which the session reports it.
    mutating func assign(_ position: Int, of request: Int, to session: Int) -> Int {
        precondition(session > 0)
        entries[request]?.sessions[position] = session
        return request << Self.positionBits | position
    }

    /// Records that no session gets `count` wake-ups of a request, of one push service.
    mutating func withhold(_ count: Int, of request: Int, _ service: PushService, _ line: [UInt8]) {
        guard var entry = entries.removeValue(forKey: request) else { return }
        entry.stop(count, service, line)
        store(entry, request)
    }

    /// Ignores outcomes for requests that are gone.
    mutating func settle(_ results: [WakeUpResult]) {
        for result in results {
            let request = result.reference >> Self.positionBits
            let position = result.reference & (1 << Self.positionBits - 1)
            guard var entry = entries.removeValue(forKey: request) else { continue }
            if entry.sessions[position] != 0 {
                entry.settle(position, result.delivery)
            }
            store(entry, request)
        }
    }

    /// Ends a session that has failed: its wake-ups get no line of their own.
    mutating func stop(_ session: Int, _ service: PushService, _ line: [UInt8]) {
        for request in entries.keys.sorted() {
            guard var entry = entries.removeValue(forKey: request) else { continue }
            var count = 0
            for position in entry.sessions.indices where entry.sessions[position] == session {
                entry.sessions[position] = 0
                count += 1
            }
            if count > 0 { entry.stop(count, service, line) }
            store(entry, request)
        }
    }

    mutating func expire(now: UInt64) {
        for (request, entry) in entries where entry.due <= now {
            var entry = entry
            for position in entry.sessions.indices where entry.sessions[position] != 0 {
                // Nobody knows whether it arrived.
                entry.settle(position, .retry(.connectionFault))
            }
            entries[request] = nil
            store(entry, request)
        }
    }

    /// Drops a request whose client is gone; later outcomes of its wake-ups are stray.
    mutating func close(_ request: Int) {
        entries[request] = nil
        ready.remove(request)
    }

    mutating func takeOutput() -> [Output] {
        defer { ready = [] }
        return ready.sorted().compactMap { request in
            guard var entry = entries.removeValue(forKey: request) else { return nil }
            let output = Output(
                request: request, lines: entry.lines, end: entry.isDone ? entry.counts : nil)
            entry.lines = []
            if !entry.isDone { entries[request] = entry }
            return output
        }
    }

    private mutating func store(_ entry: Entry, _ request: Int) {
        var entry = entry
        if entry.left == 0, !entry.isDone {
            entry.isDone = true
            entry.lines += RelayLine.done(entry.sessions.count).text
        }
        if !entry.lines.isEmpty { ready.insert(request) }
        entries[request] = entry
    }
}

extension RelayPendingRequests.Entry {
    fileprivate mutating func settle(_ position: Int, _ delivery: Delivery) {
        sessions[position] = 0
        left -= 1
        lines += RelayLine.delivery(wake: position, delivery).text
        switch delivery {
        case .accepted: counts.accepted += 1
        case .gone, .invalid: counts.gone += 1
        case .retry: counts.retried += 1
        }
    }

    /// - Parameter line: written once for each push service.
    fileprivate mutating func stop(_ count: Int, _ service: PushService, _ line: [UInt8]) {
        left -= count
        counts.stopped += count
        if stopped.insert(service).inserted { lines += line }
    }
}
