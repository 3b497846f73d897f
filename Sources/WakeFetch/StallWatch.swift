/// When to look again at transfers that share a connection, although nothing has come for them:
/// libcurl up to 8.0 reads what comes for several HTTP/2 streams at once, and now and then forgets
/// to tell a stream of what it has already read for it. Nothing more comes on the socket then, and
/// the stream waits until its time is over (measured with 7.88.1: every third burst of 100 requests
/// that was answered at once). A value; times are durations since any fixed moment.
struct StallWatch {
    /// Then twice as long, and so on.
    static let patience = Duration.milliseconds(250)

    private struct Entry {
        let host: [UInt8]
        var time: Duration
        var wait: Duration
    }

    private var entries: [UInt64: Entry] = [:]
    /// When `due` may have something; nil if there is nothing to watch.
    private(set) var next: Duration?

    mutating func begin(_ id: UInt64, host: [UInt8], at now: Duration) {
        let time = now + Self.patience
        entries[id] = Entry(host: host, time: time, wait: Self.patience)
        next = min(next ?? time, time)
    }

    mutating func end(_ id: UInt64) {
        entries[id] = nil
        if entries.isEmpty { next = nil }
    }

    /// Whom to look at now: one for each host, because only one stream of a connection reads at a
    /// time; others are due at once.
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
