import Glibc
import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeFetch
import WakeSystem

@testable import Reveille

extension BehaviourTests {
    @Test("requests: byte-identical for all clients, whatever they know; two purposes, never mixed")
    func requests() throws {
        func requests(_ seed: UInt64, _ secret: [UInt8], _ text: [UInt8]) throws -> Set<[String]> {
            let world = try World(seed: seed)
            world.secrets.add("secret-\(seed)", secret)
            for round in 0..<3 {
                let name = Array("batch \(round) of the feed".utf8)
                try world.feed.publish([Self.secret, name])
            }
            try world.time.run {
                await world.time.sleep(.seconds(Int64(seed) * 1000))
                let client = try world.client(.stream)
                _ = try await client.register(.init(.fcm, text: text))
                try await world.live(client, for: .seconds(5 * 86_400))
                _ = try await client.synchronize(.push)
                _ = try await client.storedRegistration()
                _ = try await client.unregister()
            }
            return Set(world.network.requests.map(Self.description))
        }
        let one = try requests(1, Self.secret, Self.token)
        let two = try requests(2, Self.other, [UInt8](repeating: 0x61, count: 400))
        #expect(one == two)
        // Head, keys, batches, stream, and three of registrations.
        #expect(one.count == 7, "\(one.sorted { $0[0] < $1[0] })")
    }

    /// Everything in a request that is not an instance token, a push token or a batch's name.
    private static func description(_ request: FetchRequest) -> [String] {
        let url = String(decoding: request.url.bytes, as: UTF8.self)
        let isBatch = url.firstRange(of: "/feed/b/") != nil
        let fields = request.fields.map { field in
            let name = field.name.description
            let isOwn = name == "Authorization"
            let value = String(decoding: field.value, as: UTF8.self)
            return "\(name): \(isOwn ? "\(field.value.count) bytes" : value)"
        }
        return [
            "\(request.purpose) \(request.method) \(isBatch ? "batch of \(url.utf8.count)" : url)",
            "\(request.body?.count ?? 0) bytes", "\(request.range ?? 0)", "\(request.limit)",
            "\(request.timeout)",
        ] + fields
    }

    @Test("requests: an answer that sends elsewhere or sets something changes none that follow")
    func redirects() throws {
        let world = try World()
        try world.feed.publishCover()
        try world.time.run {
            let client = try world.client()
            for status in [301, 302, 303, 307, 308, 304, 401, 407, 511] {
                world.feed.tamper { _, _ in .init(status: status) }
                let failure = ClientError.httpStatus(status, retryAfter: nil)
                await #expect(throws: failure) { try await client.synchronize() }
            }
            world.feed.tamper(nil)
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 0))
        }
        #expect(world.network.requests.allSatisfy { $0.fields.isEmpty && $0.range == nil })
        #expect(world.network.traces.count == 12)
    }

    @Test("bounds: what is asked for has its cap, and 64 KiB marks are where a fetch goes on")
    func bounds() throws {
        let world = try World()
        try world.feed.publish([Self.secret], digests: 43_008)
        let whole = try world.feed.newestBytes()
        try world.time.run {
            let client = try world.client(.stream)
            _ = try await client.register(Self.pushToken())
            for cut in [65_535, 65_536, 100_000] {
                world.feed.tamper { path, bytes in
                    path == "head" ? nil : .init(body: bytes, cutAfter: cut)
                }
                await #expect(throws: ClientError.truncated) { try await client.synchronize() }
            }
            world.feed.tamper(nil)
            let before = world.network.bytesDelivered
            try await client.synchronize()
            // Cut after 65,536, then after 100,000 more: 131,072 were kept.
            let expected: Int = world.headBytes + whole - 131_072
            #expect(world.network.bytesDelivered - before == expected)
            _ = try await client.storedRegistration()
            try await world.live(client, for: .seconds(10))
        }
        #expect(world.network.traces.map(\.range).filter { $0 != nil } == [65_536, 131_072])
        for request in world.network.requests {
            let path = String(decoding: request.url.bytes, as: UTF8.self)
            switch request.purpose {
            case .feed where path.hasSuffix("/head"):
                #expect(request.limit == FeedLimits.headFileBytes)
            case .feed where !path.contains("/b/"): #expect(request.limit == 4096)
            case .feed: #expect(request.limit == 256 + (4 << 20))
            case .registration: #expect(request.limit <= 16_384)
            default: #expect(request.limit <= 64 << 20)
            }
        }
    }

    @Test("a match causes no traffic: three days with matches and without are the same requests")
    func noTraffic() throws {
        for seed in 1...4 as ClosedRange<UInt64> {
            func traces(_ secret: [UInt8]) throws -> [String] {
                let settings = FeedSettings(pollSeconds: 7200, spreadSeconds: 300)
                let world = try World(seed: seed, settings: settings)
                world.secrets.add("visit", secret)
                try world.time.run {
                    let client = try world.client(.stream)
                    _ = try await client.register(Self.pushToken())
                    try await world.live(client, for: .seconds(86_400)) {
                        await world.time.sleep(.seconds(1000))
                        for day in 0..<3 {
                            let sequence = try world.feed.publish(
                                [Self.secret], note: "day \(day)", again: true)
                            // By the stream, by a platform's push, by the timer.
                            if day == 0 { world.network.broadcast(World.event(sequence)) }
                            if day == 1 { _ = try await client.synchronize(.push) }
                            await world.time.sleep(.seconds(40_000))
                        }
                    }
                }
                #expect(world.handler.matches.count == (secret == Self.secret ? 3 : 0))
                return zip(world.network.requests, world.network.traces).map {
                    "\($1.time) \(Self.description($0))"
                }
            }
            let matched = try traces(Self.secret)
            #expect(matched.count > 35)
            #expect(try matched == traces(Self.other))
        }
    }

    @Test("logging: a closed list of words with numbers, and nothing of the client in them")
    func logging() throws {
        let world = try World()
        world.secrets.add("visit-of-mine", Self.secret)
        try world.feed.publish([Self.secret])
        world.handler.refuse(next: 2)
        let instance = try world.time.run {
            let client = try world.client(.stream)
            world.service.answer(next: [.init(status: 500), .init(isLost: true)])
            _ = try await client.register(Self.pushToken())
            let instance = try #require(try await client.instanceBytes)
            try await world.live(client, for: .seconds(86_400)) {
                await world.time.sleep(.seconds(50_000))
                world.network.dropStreams()
                world.network.fail(.feed, with: .tls(code: 60))
            }
            _ = try await client.unregister()
            return instance
        }
        let events = world.events.withLock { $0 }
        var cases: Set<String> = []
        for event in events {
            var said = ""
            dump(event, to: &said)
            cases.insert(Mirror(reflecting: event).children.first?.label ?? "\(event)")
            #expect(Self.isClosed(event), "\(said)")
            for secret in [instance, Self.token, Self.secret].flatMap(Self.forms) {
                #expect(!Array(said.utf8).holds(secret))
            }
            #expect(!said.contains("example") && !said.contains("visit"))
        }
        #expect(cases.count >= 9, "\(cases.sorted())")
        // Nor is there a place for more in any case that was not met.
        let source =
            String(
                #filePath.dropLast("Tests/WakeClientTests/QuietBehaviourTests.swift".utf8.count))
            + "Sources/Reveille/API/ClientLogEvent.swift"
        let text = String(decoding: try Files.read(source, limit: 1 << 20), as: UTF8.self)
        for line in text.split(separator: "\n").map({ $0.drop { $0 == " " } })
        where line.hasPrefix("case ") {
            guard let open = line.firstIndex(of: "(") else { continue }
            let types = line[open...].dropFirst().dropLast().split(separator: ",").map { part in
                String(part.split(separator: ":").last ?? part).filter { $0 != " " }
            }
            #expect(types.allSatisfy { ["Int", "Int?", "ClientError"].contains($0) }, "\(line)")
        }
    }

    /// Whether there is nothing in it but numbers and errors that hold numbers.
    private static func isClosed(_ value: Any) -> Bool {
        if value is String || value is [UInt8] || value is StaticString { return false }
        return Mirror(reflecting: value).children.allSatisfy { isClosed($0.value) }
    }

    @Test("profiles: two in one process share nothing, and each is woken by its own push")
    func profiles() throws {
        let world = try World()
        try world.feed.publish([Self.secret])
        let isolations = Mutex<[[UInt8]]>([])
        let network = world.network
        var environment = world.environment
        environment.transport = { (configuration) throws(FetchError) in
            isolations.withLock { $0.append(configuration.proxy?.isolation ?? []) }
            return network
        }
        let (shared, handlers) = (environment, [RecordingHandler(world.time), world.handler])
        try world.time.run {
            var clients: [WakeClient] = []
            for (index, handler) in handlers.enumerated() {
                var configuration = world.configuration()
                configuration.stateDirectory += "-\(index)"
                configuration.cacheDirectory += "-\(index)"
                configuration.proxy = .init(host: "127.0.0.1", port: 9050)
                let secrets = DeviceSecrets()
                secrets.add("secret-\(index)", Self.secret)
                clients.append(
                    try WakeClient(
                        configuration, secrets: secrets, handler: handler, environment: shared))
            }
            for (client, text) in zip(clients, [Self.token, Self.other]) {
                #expect(try await client.register(Self.pushToken(text)) == .registered)
            }
            let instances = [
                try await clients[0].instanceBytes, try await clients[1].instanceBytes,
            ]
            #expect(instances[0] != instances[1])
            #expect(Set(world.service.rows) == [Self.token, Self.other])
            for (client, handler) in zip(clients, handlers) {
                let outcome = try await client.synchronize(.push)
                #expect(outcome == .checked(batches: 1, matches: 1))
                #expect(handler.matches.count == 1)
            }
            #expect(try await clients[0].unregister() == .none)
            #expect(world.service.rows == [Self.other])
            #expect(await clients[1].status.registration == .registered)
            try world.feed.publish([Self.secret], note: "again")
            #expect(
                try await clients[1].synchronize(.push) == .checked(batches: 1, matches: 1))
        }
        #expect(
            handlers.map { $0.matches.map(\.secretID) } == [
                ["secret-0"], ["secret-1", "secret-1"],
            ])
        let seen = isolations.withLock { $0 }
        #expect(seen.count == 2 && Set(seen).count == 2 && !seen.contains([]))
    }

    /// The times of the requests of a first check of three batches.
    /// - Parameter work: the time that each write to the state takes.
    private static func requests(work: Duration) throws -> [Duration] {
        let world = try World()
        for note in ["one", "two", "three"] { try world.feed.publish([secret], note: note) }
        let time = world.time
        try world.time.run {
            let client = try world.client()
            world.failWrites {
                time.suspend(for: work, isTold: false)
                return 0
            }
            _ = try await client.synchronize()
        }
        return world.network.requestTimes(to: .feed)
    }

    @Test("requests: the time of the next does not tell how long it took to store an answer")
    func pace() throws {
        let quick = try Self.requests(work: .zero)
        #expect(quick.count == 5, "head, keys, batches")
        let slow = try Self.requests(work: .milliseconds(3))
        #expect(
            zip(slow.dropFirst(), slow).map { $0 - $1 }
                == zip(quick.dropFirst(), quick).map { $0 - $1 })
    }

    /// Delivers after a while, or not.
    private struct Worker: MatchHandler {
        let time: SimulatedTime
        /// nil fails.
        let work: Duration?

        func didFind(_ match: Match) async throws {
            guard let work else { throw RecordingHandler.Refusal() }
            await time.sleep(work)
        }

        func didWarn(_ warning: Warning) {}
    }

    /// The times of the requests of four checks: within each of the first three, when its batch is
    /// asked for, the host of the feed publishes and sends a wake.
    private static func wokenWithin(isMatching: Bool, work: Duration?) throws -> [Duration] {
        let world = try World()
        if isMatching { world.secrets.add("visit", secret) }
        let left = Mutex(3)
        try world.feed.publish([secret], note: "note 3")
        world.feed.tamper { path, bytes in
            guard path.hasPrefix("b/") else { return nil }
            let number = left.withLock { left in
                left -= 1
                return left
            }
            if number >= 0 {
                let sequence = try? world.feed.publish([secret], note: "note \(number)")
                world.network.broadcast(World.event(sequence ?? 0))
            }
            return .init(body: bytes, delay: .milliseconds(600))
        }
        var environment = world.environment
        // A delivery that fails draws a number, too.
        environment.randomUnit = { 0.5 }
        try world.time.run { [environment] in
            let client = try WakeClient(
                world.configuration(.stream), secrets: world.secrets,
                handler: Worker(time: world.time, work: work), environment: environment)
            world.failWrites {
                world.time.suspend(for: .milliseconds(2), isTold: false)
                return 0
            }
            try await world.live(client, for: .seconds(30))
            #expect(await client.status.sequence == 4)
        }
        world.feed.tamper(nil)
        return world.network.requestTimes(to: .feed)
    }

    @Test(
        "requests: a wake within a check shows no match, however long its handler takes",
        arguments: [.zero, .milliseconds(1500), .seconds(3), nil] as [Duration?])
    func wokenWithin(work: Duration?) throws {
        let plain = try Self.wokenWithin(isMatching: false, work: work)
        #expect(plain.count == 9, "head, keys, batch; three times head, batch")
        #expect(try Self.wokenWithin(isMatching: true, work: work) == plain)
    }

    @Test("requests: secrets that cannot be read show in none, and are checked when they can be")
    func unreadable() throws {
        var times: [[Duration]] = []
        for isReadable in [true, false] {
            let world = try World()
            let secrets = SecretDirectory(stateDirectory: world.stateDirectory)
            try world.time.run {
                let client = try WakeClient(
                    world.configuration(.stream), secrets: secrets, handler: world.handler,
                    environment: world.environment)
                try secrets.add(Self.secret, named: "visit")
                if !isReadable { _ = unsafe chmod(world.stateDirectory + "/secrets", 0o755) }
                try await world.live(client, for: .seconds(3 * 3600)) {
                    await world.time.sleep(.seconds(60))
                    let sequence = try world.feed.publish([Self.secret], note: "note")
                    world.network.broadcast(World.event(sequence))
                    await world.time.sleep(.seconds(3600))
                    #expect(world.handler.matches.isEmpty == !isReadable)
                    _ = unsafe chmod(world.stateDirectory + "/secrets", 0o700)
                }
            }
            #expect(world.handler.matches.count == 1)
            times.append(world.network.requestTimes(to: .feed))
        }
        #expect(times[0] == times[1])
    }

    @Test("no push available: the stream alone and polling alone do, without any registration")
    func noPush() throws {
        for channel in [ClientConfiguration.Channel.stream, .poll] {
            let world = try World()
            world.secrets.add("visit", Self.secret)
            var configuration = world.configuration(channel)
            if channel == .poll { configuration.service = nil }
            let alone = configuration
            try world.time.run {
                let client = try WakeClient(
                    alone, secrets: world.secrets, handler: world.handler,
                    environment: world.environment)
                try await world.live(client, for: .seconds(5400)) {
                    await world.time.sleep(.seconds(10_000))
                    let sequence = try world.feed.publish([Self.secret])
                    let published = world.time.now
                    world.network.broadcast(World.event(sequence))
                    await world.time.sleep(.seconds(channel == .stream ? 2 : 5400))
                    #expect(world.handler.times.count == 1)
                    #expect(try #require(world.handler.times.first) > published)
                }
            }
            #expect(world.registrations.isEmpty)
        }
    }
}
