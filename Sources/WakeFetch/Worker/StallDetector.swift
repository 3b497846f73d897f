/// A schedule for re-reading transfers that share a connection and receive nothing: libcurl up to
/// 8.0 may not notify an HTTP/2 stream of data already read, which then times out (7.88.1: every
/// third burst of 100 requests answered at once). Times are durations since any fixed moment.
struct StallDetector {
    /// Time until the first re-read; it doubles with each.
    static let firstWait = Duration.milliseconds(250)

    private struct Entry {
        let host: [UInt8]
        var time: Duration
        var wait: Duration
    }

    private var entries: [UInt64: Entry] = [:]
    /// When `due` may return something; nil without entries.
    private(set) var next: Duration?

    mutating func begin(_ id: UInt64, host: [UInt8], at now: Duration) {
        let time = now + Self.firstWait
        entries[id] = Entry(host: host, time: time, wait: Self.firstWait)
        next = min(next ?? time, time)
    }

    mutating func end(_ id: UInt64) {
        entries[id] = nil
        if entries.isEmpty { next = nil }
    }

    /// The transfers to re-read now: one per host, because one stream of a connection reads at a
    /// time; the host's others are due at once.
    mutating func due(at now: Duration) -> [UInt64] {
        guard let time = next, time <= now else { return [] }
        var due: [UInt64] = []
        var hosts: Set<[UInt8]> = []
        next = nil
        for (id, var entry) in entries {
            if entry.time <= now, hosts.insert(entry.host).inserted {
                due.append(id)
                entry.wait *= 2
                entry.time = now + entry.wait
                entries[id] = entry
            }
            next = min(next ?? entry.time, entry.time)
        }
        return due
    }
}
