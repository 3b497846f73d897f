import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("One process per store", .timeLimit(.minutes(5)))
struct SecondOpenerTests {
    @Test("a second store is refused within a second, and the first is unharmed")
    func second() async throws {
        let place = StorePlace()
        try await place.create(registrations: 5)
        let worker = StoreWorkerProcess("hold", data: place.data, keys: place.keys)
        try #require(worker.line() == "open")
        // What a busy machine adds is not there every time; waiting for the lock would be.
        var fastest = Duration.seconds(3600)
        for _ in 0..<20 where fastest >= .seconds(1) {
            let time = ContinuousClock().measure {
                #expect(throws: StoreOpenError.locked) { try Store(opening: place.configuration) }
            }
            fastest = min(fastest, time)
        }
        #expect(fastest < .seconds(1))
        #expect(worker.finish() == 0)
        #expect(worker.line() == "closed")
        let store = try Store(opening: place.configuration)
        #expect(await store.stored(4)?.token == Known.pushToken(4))
        await store.close()
    }

    @Test("a second store in the same process is refused too, and the first goes on")
    func sameProcess() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        for _ in 0..<3 {
            #expect(throws: StoreOpenError.locked) { try Store(opening: place.configuration) }
        }
        let worker = StoreWorkerProcess("hold", data: place.data, keys: place.keys)
        #expect(worker.line() == "refused locked")
        #expect(await store.ask(.register(Known.token(1), Known.pushToken(1))) == .done)
        #expect(await store.stored(1)?.token == Known.pushToken(1))
        await store.close()
    }

    @Test("another program's connection keeps the store from opening, and the other way round")
    func otherProgram() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        do {
            let database = try place.database()
            let statement = try database.prepare("SELECT count(*) FROM registration")
            #expect(try statement.step())
            #expect(throws: StoreOpenError.locked) { try Store(opening: place.configuration) }
        }
        let worker = StoreWorkerProcess("hold", data: place.data, keys: place.keys)
        try #require(worker.line() == "open")
        #expect(throws: SQLiteError.self) {
            try place.database().integer("SELECT count(*) FROM registration")
        }
        #expect(worker.finish() == 0)
    }

    @Test("creating overwrites nothing")
    func create() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        #expect(throws: StoreOpenError.exists(.keyFile)) { try Store.create(place.configuration) }
        let other = StoreConfiguration(dataDirectory: place.data, keyFile: place.path + "/other")
        #expect(throws: StoreOpenError.exists(.database)) { try Store.create(other) }
        let store = try Store(opening: place.configuration)
        #expect(await store.stored(0) != nil)
        await store.close()
        let inside = StoreConfiguration(
            dataDirectory: place.path + "/new", keyFile: place.path + "/new/master")
        #expect(throws: StoreOpenError.keyFileInsideData) { try Store.create(inside) }
        #expect(StorePlace.names(in: place.path + "/new").isEmpty)
    }

    @Test("of many that create at once, one wins and the store is sound")
    func createAtOnce() async throws {
        let place = StorePlace()
        let configuration = place.configuration
        let made = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask { (try? Store.create(configuration)) != nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(made == 1)
        let store = try Store(opening: configuration)
        await store.close()
    }
}
