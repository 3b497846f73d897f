import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeStore

@Suite("The store keeps, moves and forgets registrations", .timeLimit(.minutes(5)))
struct StoreTests {
    @Test("a registration is read back with both columns and what they decode to")
    func readBack() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        #expect(await store.ask(.register(Known.token(1), Known.pushToken(1))) == .done)
        let stored = try #require(await store.stored(1))
        #expect(stored.token == Known.pushToken(1))
        #expect(stored.generation == .current)
        #expect(stored.id.count == Limits.idBytes)
        #expect(stored.sealed.count == Limits.sealedBytes)
        #expect(await store.ask(.read(Known.token(2))) == .stored(nil))
        await store.close()
    }

    @Test("registering again moves the one row, under a new nonce every time")
    func registerAgain() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        var sealed: Set<[UInt8]> = []
        for version in [1, 2, 2, 3] {
            #expect(
                await store.ask(.register(Known.token(1), Known.pushToken(1, version))) == .done)
            let stored = try #require(await store.stored(1))
            #expect(stored.token == Known.pushToken(1, version))
            sealed.insert(stored.sealed)
        }
        #expect(sealed.count == 4)
        let page = try #require(await store.page(of: .current, after: []))
        #expect(page.rows.count == 1)
        await store.close()
    }

    @Test("every kind and length of push token survives the sealed column")
    func everyPushToken() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        let longest = Array(repeating: UInt8(ascii: "x"), count: Limits.pushTokenBytes)
        let endpoint = Array("https://push.example.org/abc".utf8)
        let tokens = [
            try PushToken(service: .apns, bytes: Array(0..<32)),
            try PushToken(service: .apnsSandbox, bytes: Array(0..<100)),
            try PushToken(service: .fcm, text: longest.span),
            try PushToken(service: .fcm, bytes: [UInt8(ascii: "a")]),
            try PushToken(service: .webPush, text: endpoint.span),
            try PushToken(
                service: .webPush,
                bytes: endpoint + [0, 4] + [UInt8](repeating: 3, count: 64 + 16)),
        ]
        for (number, token) in tokens.enumerated() {
            #expect(await store.ask(.register(Known.token(number), token)) == .done)
            let stored = try #require(await store.stored(number))
            #expect(stored.token == token)
            #expect(stored.sealed.count == Limits.sealedBytes)
        }
        await store.close()
    }

    @Test("deleting forgets the row, and deleting what is not there is answered the same")
    func delete() async throws {
        let place = StorePlace()
        try await place.create(registrations: 3)
        let store = try Store(opening: place.configuration)
        for number in [1, 1, 99] {
            #expect(await store.ask(.delete(Known.token(number))) == .done)
        }
        #expect(await store.stored(0) != nil)
        #expect(await store.stored(1) == nil)
        #expect(await store.stored(2) != nil)
        await store.close()
    }

    @Test("what was acknowledged is there after closing and opening")
    func reopen() async throws {
        let place = StorePlace()
        try await place.create(registrations: 20)
        let store = try Store(opening: place.configuration)
        for number in 0..<20 {
            #expect(await store.stored(number)?.token == Known.pushToken(number))
        }
        await store.close()
    }

    @Test("a closed store answers unavailable, and closing twice is harmless")
    func closed() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        await store.close()
        await store.close()
        #expect(await store.ask(.read(Known.token(1))) == .unavailable)
        #expect(store.counters.condition == .closed)
    }

    @Test("everything submitted before closing is answered and kept")
    func closeDrains() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        let done = Mutex(0)
        for number in 0..<1000 {
            store.submit(.register(Known.token(number), Known.pushToken(number))) { answer in
                if answer == .done { done.withLock { $0 += 1 } }
            }
        }
        await store.close()
        #expect(done.withLock { $0 } == 1000)
        let again = try Store(opening: place.configuration)
        #expect(await again.page(of: .current, after: [])?.rows.count == 1000)
        await again.close()
    }

    @Test("at rest only the databases and the reserve are there, private, and no log")
    func filesAtRest() async throws {
        let place = StorePlace()
        try await place.create(registrations: 10)
        #expect(
            StorePlace.names(in: place.data) == ["generation-0.db", "generation-1.db", "reserve"])
        #expect(StorePlace.mode(of: place.data) == 0o700)
        for file in [place.file(0), place.file(), place.configuration.reserveFile, place.keys] {
            #expect(StorePlace.mode(of: file) == 0o600)
        }
    }

    @Test("while it runs the log is private and there is no shared-memory index")
    func filesAtWork() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        #expect(await store.ask(.register(Known.token(1), Known.pushToken(1))) == .done)
        let names = StorePlace.names(in: place.data)
        let databases = (0...1).flatMap { ["generation-\($0).db", "generation-\($0).db-wal"] }
        #expect(names == databases + ["reserve"])
        #expect(StorePlace.mode(of: place.file() + "-wal") == 0o600)
        await store.close()
    }
}
