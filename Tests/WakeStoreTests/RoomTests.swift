import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("A store without room", .timeLimit(.minutes(5)))
struct RoomTests {
    @Test("at the cap new rows are refused, renewals, reads and every delete work")
    func cap() async throws {
        let place = StorePlace()
        try await place.create()
        var configuration = place.configuration
        configuration.maxPages = 120
        let store = try Store(opening: configuration)
        var registered: [Int] = []
        for number in 0..<2000 {
            switch await store.ask(.register(Known.token(number), Known.pushToken(number))) {
            case .done: registered.append(number)
            case .full: break
            default: Issue.record("neither stored nor refused")
            }
        }
        #expect(registered.count > 150 && registered.count < 400)
        #expect(store.counters.refusals.now == 2000 - registered.count)
        for number in registered {
            let renewal = StoreOperation.register(Known.token(number), Known.pushToken(number, 2))
            #expect(await store.ask(renewal) == .done)
            #expect(await store.stored(number)?.token == Known.pushToken(number, 2))
        }
        for number in registered { #expect(await store.ask(.delete(Known.token(number))) == .done) }
        #expect(await store.page(of: .current, after: [])?.rows.isEmpty == true)
        #expect(await store.ask(.register(Known.token(1), Known.pushToken(1))) == .done)
        await store.close()
    }

    @Test("at the cap everybody who is there moves, in any order, however many others knock")
    func moves() async throws {
        let place = StorePlace()
        try await place.create()
        var configuration = place.configuration
        configuration.maxPages = 400
        let store = try Store(opening: configuration)
        func register(_ number: Int, _ version: Int) async -> Bool {
            let address = Known.pushToken(number, version)
            return await store.ask(.register(Known.token(number), address)) == .done
        }
        var random = SplitMix64(seed: 14)
        var (stored, next, peak) = ([Int](), 0, 0)
        for generation in 1...4 {
            while await register(next, generation) {
                stored.append(next)
                next += 1
            }
            #expect(stored.count >= Limits.rowsPerPage * configuration.maxPages / 2 - 100)
            try await store.rotated()
            for number in stored.shuffled(using: &random) {
                #expect(await register(number, generation + 1), "\(number)")
                peak = max(peak, store.counters.pages.now)
                next += 1
                if await register(next, generation + 1) { stored.append(next) }
            }
            #expect(store.counters.expired.now == 0)
        }
        #expect(peak > configuration.maxPages / 2 && peak < configuration.maxPages)
        for number in stored { #expect(await store.stored(number) != nil) }
        await store.close()
    }

    @Test(
        "on a full disk new rows are refused, all others renewed and deleted, to the last row",
        arguments: [1, 64])
    func fullDisk(_ callers: Int) throws {
        let place = StorePlace()
        try place.makeDirectories()
        let worker = StoreWorkerProcess("full", data: place.data, keys: place.keys, [callers])
        var report: [Substring: Substring] = [:]
        for line in worker.lines() {
            let words = line.split(separator: " ")
            report[words[0]] = words.count > 1 ? words[1] : ""
        }
        #expect(worker.finish() == 0)
        if report["skipped"] != nil {
            try Test.cancel("needs the right to mount a tmpfs in a namespace of its own")
        }
        let registered = try #require(report["registered"])
        #expect(Int(registered) ?? 0 > 1000)
        #expect(report["condition"] == "full")
        #expect(report["register"] == "full")
        #expect(report["renewed"] == registered)
        #expect(report["deleted"] == registered)
        #expect(report["left"] == "0")
        #expect(report["again"] == "done")
        #expect(report["end"] != nil)
    }

    @Test("a queue that is full answers overloaded at once, and everything accepted is done")
    func overload() async throws {
        let place = StorePlace()
        try await place.create()
        let reports = BatchReports()
        let store = try Store(opening: reports.observe(place.configuration))
        let total = Limits.queuedOperations * 4
        let (answers, sink) = AsyncStream.makeStream(of: StoreAnswer.self)
        let release = await store.held()
        for number in 0..<total {
            store.submit(.register(Known.token(number), Known.pushToken(number))) { sink.yield($0) }
        }
        release()
        var done = 0
        var overloaded = 0
        var iterator = answers.makeAsyncIterator()
        for _ in 0..<total {
            switch await iterator.next() {
            case .done: done += 1
            case .overloaded: overloaded += 1
            default: Issue.record("neither done nor overloaded")
            }
        }
        #expect(overloaded > 0)
        #expect(done >= Limits.queuedOperations)
        #expect(store.counters.overloads.now == overloaded)
        #expect(reports.largest <= Limits.batchOperations)
        await store.close()
    }
}
