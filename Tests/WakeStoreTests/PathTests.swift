import TestSupport
import Testing
import WakeModel
import WakeStore

@Suite("What an operation finds does not show in what it does", .timeLimit(.minutes(5)))
struct PathTests {
    @Test("the same flushes and truncations for every registration, and for every delete")
    func systemCalls() async throws {
        let place = StorePlace()
        try await place.create()
        let worker = StoreWorkerProcess("paths", data: place.data, keys: place.keys)
        var paths: [Substring: Set<String>] = [:]
        for line in worker.lines() where line != "end" {
            let words = line.split(separator: " ", maxSplits: 1)
            paths[words[0], default: []].insert(String(words[1]))
        }
        #expect(worker.finish() == 0)
        for (names, expected) in [
            // Flushes of the log, and for a delete in both files, once more with the database and
            // once emptied. SQLite cuts the database to its size as well.
            (["new", "repeated", "changed", "moved"], "done 1 0"),
            (["known", "deleted", "unknown"], "done 9 4"),
        ] {
            for name in names {
                // The least: a log that is due is emptied meanwhile on a slow machine.
                #expect(paths[name[...]]?.min() == expected, "\(name): \(paths[name[...]] ?? [])")
            }
        }
    }

    @Test("the same number of statements for every registration, and for every delete")
    func statements() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        let reports = BatchReports()
        let store = try Store(opening: reports.observe(place.configuration))
        let registers: [StoreOperation] = [
            .register(Known.token(1), Known.pushToken(1)),
            .register(Known.token(1), Known.pushToken(1)),
            .register(Known.token(1), Known.pushToken(1, 2)),
        ]
        let deletes = [1, 1, 7, 0].map { StoreOperation.delete(Known.token($0)) }
        for operation in registers + deletes { #expect(await store.ask(operation) == .done) }
        await store.close()
        let seen = reports.all
        #expect(seen.count == 7)
        #expect(Set(seen.prefix(3).map(\.statements)) == [3])
        #expect(Set(seen.suffix(4).map(\.statements)) == [3])
        #expect(seen.map(\.erased) == [0, 1, 1, 1, 0, 0, 1])
        #expect(seen.allSatisfy { $0.truncated == ($0.deletes > 0) && $0.pages > 0 })
    }
}
