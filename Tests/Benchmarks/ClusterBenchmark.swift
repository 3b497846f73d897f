/// What happens to the clients of many shards when shards come and go, by the model of haproxy's
/// ring that `HashRingTests` holds against haproxy.
enum ClusterBenchmark {
    private static let help = """
        usage: bench cluster [--shards 100] [--clients 100000000] [--weight 100] [--threads 2]
                             [--seed 1]

        Simulates eight weeks: a shard is added, one is lost with its disk, one is drained. Each
        client has a token, renews after 1 to 2 1/3 days at random, and has a row where it renewed
        until the second rotation after that; everybody is woken every two hours. Ends with 0 when
        only clients of the shard concerned move, everybody is registered after one renewal, nobody
        but the lost shard's clients goes without a wake-up, nobody has more than two rows, and 14
        days after each change every client is woken once in a broadcast.

        """

    static func run(_ arguments: [String]) async -> Int32 {
        let options = Options(
            arguments, known: ["shards", "clients", "weight", "threads", "seed"])
        return await options.run(help: help) { options in
            let shards = options.number("shards", default: 100)
            // haproxy has ids of 32 bits, and weights of up to 256.
            guard (3...4000).contains(shards),
                (1...256).contains(options.number("weight", default: 100))
            else {
                print(help, terminator: "")
                return 2
            }
            return await simulate(shards, options)
        }
    }

    private static func simulate(_ shards: Int, _ options: Options) async -> Int32 {
        let watch = Stopwatch()
        let clients = options.number("clients", default: 100_000_000)
        let threads = max(1, options.number("threads", default: 2))
        let story = ClusterStory(
            shards: shards, weight: options.number("weight", default: 100),
            seed: UInt64(options.number("seed", default: 1)))
        var tally = ClusterTally(shards: shards)
        await withTaskGroup(of: ClusterTally.self) { group in
            for thread in 0..<threads {
                group.addTask {
                    await part(story, stride(from: thread, to: clients, by: threads))
                }
            }
            for await part in group { tally.add(part) }
        }
        let isMet = show(tally, of: story, clients)
        print(
            "\(Int(watch.seconds)) s, \(Int(watch.processorSeconds)) s of CPU, at most "
                + "\((ProcessStatus()?.peak ?? 0) >> 20) MiB of memory")
        print("all that must hold: \(isMet ? "met" : "MISSED")")
        return isMet ? 0 : 1
    }

    @concurrent
    private static func part(
        _ story: ClusterStory, _ clients: StrideTo<Int>
    ) async -> ClusterTally {
        var tally = ClusterTally(shards: story.shards)
        for client in clients { story.count(client, in: &tally) }
        return tally
    }

    private static func show(
        _ tally: ClusterTally, of story: ClusterStory, _ clients: Int
    ) -> Bool {
        func share(_ count: Int) -> String {
            let hundredths = Int((Double(count) / Double(clients) * 10_000).rounded())
            return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) %"
        }
        let first = tally.rows[0][1...story.shards]
        print("\(clients) clients on \(story.shards) shards")
        let (least, most) = (first.min() ?? 0, first.max() ?? 0)
        print("of one shard: \(least) to \(most) clients, \(share(least)) to \(share(most))")
        var isMet = tally.mostRows <= 2 && clients > 0
        let series = (
            unfound: tally.unfound.counts, unwoken: tally.unwoken.counts,
            repeated: tally.repeated.counts
        )
        for (index, change) in ClusterStory.Change.allCases.enumerated() {
            let next = ClusterStory.Change.allCases.dropFirst(index + 1).first
            let span = broadcast(change.day)..<(next.map { broadcast($0.day) } ?? lastBroadcast)
            let moved = tally.moved[index]
            print(
                "day \(change.day): shard \(story.ids[change] ?? 0) is \(change): \(moved) clients "
                    + "move, \(share(moved)), \(tally.strayed[index]) of other shards")
            let unfound = Extent(series.unfound, span)
            let unwoken = Extent(series.unwoken, span)
            let repeated = Extent(series.repeated, span)
            print("  not registered where they belong: \(unfound.text(share))")
            print("  not woken in a broadcast: \(unwoken.text(share))")
            print("  woken twice in a broadcast: \(repeated.text(share))")
            isMet =
                isMet && tally.strayed[index] == 0
                && tally.slowest[index] < ClusterStory.renewal.upperBound
                && (change == .lost ? unwoken.hours <= 56 : unwoken.most == 0)
                && repeated.hours <= 14 * 24 && moved > 0
        }
        let total = series.repeated.reduce(0, +)
        let wakes = Double(clients) * Double(ClusterStory.broadcasts)
        print(
            "second wake-ups in all \(ClusterStory.broadcasts) broadcasts: \(total), "
                + "\(Int((Double(total) / wakes * 1e6).rounded())) of a million wake-ups; "
                + "a client has at most \(tally.mostRows) rows")
        return isMet
    }

    private static let lastBroadcast = ClusterStory.broadcasts

    private static func broadcast(_ day: Int) -> Int {
        day * ClusterStory.day / ClusterStory.broadcastInterval
    }

    /// The size of a count in the time after a change, and how long it is above zero.
    private struct Extent {
        let most: Int
        /// From the change to the first broadcast for which it is zero for good.
        let hours: Int

        init(_ counts: [Int], _ span: Range<Int>) {
            most = counts[span].max() ?? 0
            let last = counts[span].lastIndex { $0 > 0 }
            hours =
                last.map { ($0 + 1 - span.lowerBound) * ClusterStory.broadcastInterval / 3600 }
                ?? 0
        }

        func text(_ share: (Int) -> String) -> String {
            most == 0 ? "nobody" : "at most \(most), \(share(most)); nobody after \(hours) h"
        }
    }
}
