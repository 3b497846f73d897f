import TestSupport

/// The life of many shards as their clients see it: one shard comes, one is lost with its disk, one
/// is drained. A client is a number: its token, its renewals and so its rows follow from that, and
/// only counts are kept.
struct ClusterStory: Sendable {
    enum Change: Sendable, CaseIterable {
        case added, lost, drained

        var day: Int {
            switch self {
            case .added: 7
            case .lost: 28
            case .drained: 35
            }
        }
    }

    static let day = 86_400
    /// Seconds from one renewal of a client to the next, as ``DesiredRegistration`` draws them.
    static let renewal = 86_400..<201_600
    static let broadcastInterval = 7200
    private static let rotation = 7 * day
    private static let end = 56 * day
    static let broadcasts = end / broadcastInterval

    let shards: Int
    /// The ids of the shards that come and go.
    let ids: [Change: Int]
    /// At first, and after each change.
    private let rings: [HashRing]
    /// For each id a moment of one of its rotations.
    private let phases: [Int]
    private let seed: UInt64

    init(shards: Int, weight: Int, seed: UInt64) {
        self.shards = shards
        self.seed = seed
        let ids: [Change: Int] = [.added: shards + 1, .lost: shards / 2, .drained: 1]
        self.ids = ids
        var present = Set(1...shards)
        var rings: [HashRing] = []
        func place() {
            rings.append(HashRing(present.sorted().map { .init(id: $0, weight: weight) }))
        }
        place()
        for change in Change.allCases {
            guard let id = ids[change] else { continue }
            if change == .added { present.insert(id) } else { present.remove(id) }
            place()
        }
        self.rings = rings
        var random = SplitMix64(seed: ~seed)
        phases = (0...shards + 1).map { _ in Int.random(in: 0..<Self.rotation, using: &random) }
    }

    // MARK: One client

    /// A row on a shard, from its first `PUT` to the last one.
    private struct Row {
        let shard: Int
        let first: Int
        var last: Int
    }

    func count(_ client: Int, in tally: inout ClusterTally) {
        var random = SplitMix64(seed: seed &+ UInt64(client) &* 0xD134_2543_DE82_EF95)
        let token = HashRing.token(random.bytes(32))
        let hash = HashRing.hash(ofToken: token)
        let homes = rings.map { $0.server(of: hash) }
        for (phase, home) in homes.enumerated() { tally.rows[phase][home] += 1 }
        if homes.allSatisfy({ $0 == homes[0] }) { return }
        for (index, change) in Change.allCases.enumerated()
        where homes[index] != homes[index + 1] {
            tally.moved[index] += 1
            let (from, to) = (homes[index], homes[index + 1])
            if (change == .added ? to : from) != ids[change] { tally.strayed[index] += 1 }
        }
        let rows = rows(homes, using: &random)
        tally.add(rows.map { Self.broadcasts(from: $0.first, to: end(of: $0)) })
        for (index, change) in Change.allCases.enumerated()
        where homes[index] != homes[index + 1] {
            let start = change.day * Self.day
            let found = rows.first { $0.shard == homes[index + 1] && $0.last >= start }
            let time = found?.first ?? Self.end
            tally.unfound.add(1, Self.broadcasts(from: start, to: time))
            tally.slowest[index] = max(tally.slowest[index], time - start)
        }
    }

    /// The rows that a client's renewals make over the whole time.
    private func rows(_ homes: [Int], using random: inout SplitMix64) -> [Row] {
        var time = -Int.random(in: 0..<Self.renewal.upperBound, using: &random)
        var rows = [Row(shard: homes[0], first: time, last: time)]
        while true {
            time += Int.random(in: Self.renewal, using: &random)
            guard time < Self.end else { return rows }
            let home = homes[Change.allCases.count { $0.day * Self.day <= time }]
            if let index = rows.firstIndex(where: { $0.shard == home && time < end(of: $0) }) {
                rows[index].last = time
            } else {
                rows.append(Row(shard: home, first: time, last: time))
            }
        }
    }

    /// A row is dropped at the second rotation of its shard after its last renewal, or with the
    /// shard: one that is drained is switched off when everybody has had to renew.
    private func end(of row: Row) -> Int {
        let rotations = (row.last - phases[row.shard] + 2 * Self.rotation) / Self.rotation
        let expiry = phases[row.shard] + rotations * Self.rotation
        switch row.shard {
        case ids[.lost]: return min(expiry, Change.lost.day * Self.day)
        case ids[.drained]:
            return min(expiry, Change.drained.day * Self.day + Self.renewal.upperBound)
        default: return expiry
        }
    }

    /// The broadcasts of a stretch of time; all shards begin theirs at one moment.
    private static func broadcasts(from start: Int, to end: Int) -> Range<Int> {
        func index(_ time: Int) -> Int {
            min(max(0, (time + broadcastInterval - 1) / broadcastInterval), broadcasts)
        }
        return index(start)..<max(index(start), index(end))
    }
}

/// What was counted of some clients.
struct ClusterTally: Sendable {
    /// Clients of each shard, at first and after each change.
    var rows: [[Int]]
    /// Clients that a change moved, and those of them that had nothing to do with its shard.
    var moved = [Int](repeating: 0, count: ClusterStory.Change.allCases.count)
    var strayed = [Int](repeating: 0, count: ClusterStory.Change.allCases.count)
    /// Seconds from a change until the last client was found where it belongs.
    var slowest = [Int](repeating: 0, count: ClusterStory.Change.allCases.count)
    /// In each broadcast: clients that are not woken, wake-ups beyond the first, and clients whose
    /// `GET` and `DELETE` find nothing.
    var unwoken = Steps()
    var repeated = Steps()
    var unfound = Steps()
    var mostRows = 1

    /// Counts that begin and end with some broadcast.
    struct Steps: Sendable {
        private var changes = [Int](repeating: 0, count: ClusterStory.broadcasts + 1)

        mutating func add(_ count: Int, _ broadcasts: Range<Int>) {
            changes[broadcasts.lowerBound] += count
            changes[broadcasts.upperBound] -= count
        }

        mutating func add(_ other: Steps) {
            for index in changes.indices { changes[index] += other.changes[index] }
        }

        /// The count of each broadcast.
        var counts: [Int] {
            var count = 0
            return changes.dropLast().map {
                count += $0
                return count
            }
        }
    }

    init(shards: Int) {
        let phases = ClusterStory.Change.allCases.count + 1
        rows = [[Int]](repeating: [Int](repeating: 0, count: shards + 2), count: phases)
    }

    /// - Parameter rows: for each row of a client the broadcasts in which it is there.
    mutating func add(_ rows: [Range<Int>]) {
        let edges = Set(rows.flatMap { [$0.lowerBound, $0.upperBound] })
            .union([0, ClusterStory.broadcasts]).sorted()
        for (start, end) in zip(edges, edges.dropFirst()) {
            let count = rows.count { $0.contains(start) }
            mostRows = max(mostRows, count)
            if count == 0 { unwoken.add(1, start..<end) }
            if count > 1 { repeated.add(count - 1, start..<end) }
        }
    }

    mutating func add(_ other: ClusterTally) {
        for phase in rows.indices {
            for shard in rows[phase].indices { rows[phase][shard] += other.rows[phase][shard] }
        }
        for index in moved.indices {
            moved[index] += other.moved[index]
            strayed[index] += other.strayed[index]
            slowest[index] = max(slowest[index], other.slowest[index])
        }
        unwoken.add(other.unwoken)
        repeated.add(other.repeated)
        unfound.add(other.unfound)
        mostRows = max(mostRows, other.mostRows)
    }
}
