import WakeModel
import WakePush

/// The requests in work, as a value: which wake-up of which request went to which round, what is
/// left, and the lines to be said. It knows no push token.
struct RelayBook {
    /// What became of wake-ups, counted.
    struct Counts: Equatable {
        var accepted = 0
        var gone = 0
        var retried = 0
        /// Left to the installation, for a gateway that stopped or is not there.
        var stopped = 0
    }

    struct Entry {
        /// By place in the request: the round that has the wake-up; 0: none, it has its line or
        /// gets none.
        fileprivate var rounds: [Int]
        fileprivate var left: Int
        fileprivate let due: UInt64
        /// Lines to be said.
        fileprivate var lines: [UInt8] = []
        fileprivate var counts = Counts()
        fileprivate var hasStopped: Set<PushService> = []
        fileprivate var isDone = false
    }

    /// What is to be said to one request.
    struct Speech: Equatable {
        let request: Int
        let lines: [UInt8]
        /// nil while there is more to come.
        let end: Counts?
    }

    private var entries: [Int: Entry] = [:]
    private var last = 0
    /// Requests with something to be said.
    private var talkative: Set<Int> = []

    /// Bits of a reference that are the place in the request.
    private static let placeBits = 10

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    /// - Parameter due: milliseconds when it is given up.
    mutating func open(wakes: Int, due: UInt64) -> Int {
        precondition((1...1 << Self.placeBits).contains(wakes))
        last += 1
        entries[last] = Entry(rounds: [Int](repeating: 0, count: wakes), left: wakes, due: due)
        return last
    }

    /// A round, by its number, gets a wake-up.
    /// - Returns: the reference by which it comes back.
    mutating func give(_ place: Int, of request: Int, to round: Int) -> Int {
        precondition(round > 0)
        entries[request]?.rounds[place] = round
        return request << Self.placeBits | place
    }

    /// No round gets these wake-ups of a request, of one push service.
    mutating func withhold(_ count: Int, of request: Int, _ service: PushService, _ line: [UInt8]) {
        guard var entry = entries.removeValue(forKey: request) else { return }
        entry.stop(count, service, line)
        keep(entry, request)
    }

    /// - Returns: the number of outcomes for requests that are gone.
    @discardableResult
    mutating func settle(_ wakeUps: [SettledWakeUp]) -> Int {
        var stray = 0
        for wakeUp in wakeUps {
            let request = wakeUp.reference >> Self.placeBits
            let place = wakeUp.reference & (1 << Self.placeBits - 1)
            guard var entry = entries.removeValue(forKey: request) else {
                stray += 1
                continue
            }
            if entry.rounds[place] == 0 {
                stray += 1
            } else {
                entry.settle(place, wakeUp.delivery)
            }
            keep(entry, request)
        }
        return stray
    }

    /// A round has failed: its wake-ups get no line of their own.
    mutating func stop(_ round: Int, _ service: PushService, _ line: [UInt8]) {
        for request in entries.keys.sorted() {
            guard var entry = entries.removeValue(forKey: request) else { continue }
            var count = 0
            for place in entry.rounds.indices where entry.rounds[place] == round {
                entry.rounds[place] = 0
                count += 1
            }
            if count > 0 { entry.stop(count, service, line) }
            keep(entry, request)
        }
    }

    /// Gives up what is overdue, or everything.
    mutating func expire(now: UInt64) {
        for (request, entry) in entries where entry.due <= now {
            var entry = entry
            for place in entry.rounds.indices where entry.rounds[place] != 0 {
                // Nobody knows whether it arrived.
                entry.settle(place, .retry(.connectionFault))
            }
            entries[request] = nil
            keep(entry, request)
        }
    }

    /// The client is gone: what its wake-ups come to is nobody's any more.
    mutating func close(_ request: Int) {
        entries[request] = nil
        talkative.remove(request)
    }

    /// Everything to be said since this was asked before.
    mutating func takeSpeeches() -> [Speech] {
        defer { talkative = [] }
        return talkative.sorted().compactMap { request in
            guard var entry = entries.removeValue(forKey: request) else { return nil }
            let speech = Speech(
                request: request, lines: entry.lines, end: entry.isDone ? entry.counts : nil)
            entry.lines = []
            if !entry.isDone { entries[request] = entry }
            return speech
        }
    }

    private mutating func keep(_ entry: Entry, _ request: Int) {
        var entry = entry
        if entry.left == 0, !entry.isDone {
            entry.isDone = true
            entry.lines += RelayLine.done(entry.rounds.count).text
        }
        if !entry.lines.isEmpty { talkative.insert(request) }
        entries[request] = entry
    }
}

extension RelayBook.Entry {
    fileprivate mutating func settle(_ place: Int, _ delivery: Delivery) {
        rounds[place] = 0
        left -= 1
        lines += RelayLine.delivery(wake: place, delivery).text
        switch delivery {
        case .accepted: counts.accepted += 1
        case .gone: counts.gone += 1
        case .retry: counts.retried += 1
        }
    }

    /// - Parameter line: said once for each push service.
    fileprivate mutating func stop(_ count: Int, _ service: PushService, _ line: [UInt8]) {
        left -= count
        counts.stopped += count
        if hasStopped.insert(service).inserted { lines += line }
    }
}
