import Foundation
import ReveillePhone
import TestSupport
import Testing

/// A phone with the library, whose state is in a directory of its own.
struct PhoneUnderTest {
    let directory: TemporaryDirectory
    let client: PhoneClient
    let device = TestDevice()

    init(
        feed: String, key: String, service: String? = nil, witnesses: String? = nil,
        in directory: TemporaryDirectory? = nil, vault: (any TokenVault)? = nil
    ) throws {
        let directory = try directory ?? TemporaryDirectory()
        self.directory = directory
        client = try PhoneClient(
            PhoneConfiguration(
                feed: try #require(URL(string: feed)), feedKey: key,
                service: service.flatMap { URL(string: $0) },
                stateDirectory: URL(filePath: directory.path + "/state"), witnesses: witnesses),
            transport: URLSessionTransport(), vault: vault)
    }

    init(
        _ service: ServiceUnderTest, in directory: TemporaryDirectory? = nil,
        vault: (any TokenVault)? = nil
    ) throws {
        try self.init(
            feed: service.url + "/feed/", key: service.feedKey, service: service.url,
            in: directory, vault: vault)
    }

    var secrets: [String: Data] { ["visit": Data(device.push)] }

    func cycle(_ reason: PhoneReason = .poll) async -> PhoneCycleResult {
        await client.cycle(secrets: secrets, reason: reason)
    }

    /// All files of the state.
    func stateText() throws -> String {
        String(
            decoding: try Data(contentsOf: URL(filePath: directory.path + "/state/state")),
            as: UTF8.self)
    }
}

@Suite("The library for phones, against the real service", .timeLimit(.minutes(20)))
struct PhoneClientTests {
    @Test("it registers, finds what reveille-client finds, by the same ids, once, and is forgotten")
    func story() async throws {
        let service = try await ServiceUnderTest()
        let phone = try PhoneUnderTest(service)
        #expect(try await phone.client.register(.apns(Data(phone.device.push))) == .registered)
        #expect(try service.rows() == 1)
        #expect(await phone.cycle().outcome == .upToDate)
        _ = try await service.publish(
            [phone.device.pushText], notes: ["first – ü"], "--again")
        let found = await phone.cycle(.push)
        #expect(found.outcome == .checked(batches: 1, matches: 1) && found.hasNewMatches)
        #expect(found.matches.map(\.note) == ["first – ü"] && found.failure == nil)
        let succeeded = try await service.command("feed", "succeed", "--yes")
        #expect(succeeded.status == 0, "\(succeeded.output)")
        _ = try await service.publish(
            [phone.device.pushText], notes: ["second"], "--again")
        _ = try await service.publish(
            [phone.device.pushText], notes: ["first – ü"], "--again")
        // A phone that was killed meanwhile.
        let again = try PhoneUnderTest(service, in: phone.directory)
        let both = await again.client.cycle(secrets: phone.secrets)
        #expect(both.matches.map(\.note) == ["first – ü", "second"], "\(both)")
        for match in both.matches { try await again.client.acknowledge(match.id) }
        #expect(try await again.client.matches().isEmpty)
        #expect(try !phone.stateText().contains(Data("second".utf8).base64EncodedString()))
        _ = try await service.publish(
            [phone.device.pushText], notes: ["second"], "--again")
        #expect(await phone.cycle().matches.isEmpty)

        let client = try await ClientUnderTest(of: service)
        _ = try await client.command(
            "secrets", "add", "visit", input: Array(phone.device.pushText.utf8))
        let sync = try await client.command("sync", "--json")
        for match in both.matches { #expect(sync.output.contains(match.id), "\(sync.output)") }

        let status = try await phone.client.status()
        #expect(status.registration == .registered && status.unchecked.isEmpty)
        #expect(status.lastChecked != nil && status.failure == nil && status.warnings.isEmpty)
        let text = await phone.client.diagnostics()
        for needle in ["http", "127.0.0.1", phone.device.pushText, service.feedKey] {
            #expect(!text.contains(needle), "\(text)")
        }
        #expect(try await phone.client.unregister() == .none)
        #expect(try service.rows() == 0)
        #expect(await phone.cycle(.push).outcome == .upToDate)
        #expect(await service.stop() == 0)
        // Nothing is lost while the service is away, and a push is ignored after the user's no.
        #expect(
            try await phone.client.register(.apns(Data(phone.device.push)))
                == .registering(failure: .network))
        #expect(await phone.cycle().failure == .network)
    }

    @Test("secrets that cannot be read cost nothing but the comparison, and are asked for again")
    func unreadable() async throws {
        let service = try await ServiceUnderTest()
        let phone = try PhoneUnderTest(service)
        _ = try await service.publish([phone.device.pushText], notes: ["x"], "--again")
        let blind = await phone.client.cycle(secrets: nil)
        #expect(blind.failure == nil && blind.matches.isEmpty)
        #expect(try await phone.client.status().warnings == [.secretsUnreadable])
        let short = phone.secrets.merging(["short": Data([1])]) { $1 }
        #expect(await phone.client.cycle(secrets: short).matches.count == 1)
        #expect(try await phone.client.status().warnings == [.unusableSecrets(count: 1)])
    }

    @Test("two at once in one directory find everything once")
    func twice() async throws {
        let service = try await ServiceUnderTest()
        let first = try PhoneUnderTest(service)
        let second = try PhoneUnderTest(service, in: first.directory)
        for note in ["a", "b", "c"] {
            _ = try await service.publish(
                [first.device.pushText], notes: [note], "--again")
        }
        async let one = first.client.cycle(secrets: first.secrets)
        async let two = second.client.cycle(secrets: first.secrets)
        async let three = first.client.cycle(secrets: first.secrets)
        let results = await [one, two, three]
        #expect(results.allSatisfy { $0.failure == nil }, "\(results)")
        #expect(try await first.client.matches().compactMap(\.note).sorted() == ["a", "b", "c"])
    }

    @Test("a cycle that is cancelled ends at once and says so; a push is spread")
    func cancelled() async throws {
        let service = try await ServiceUnderTest()
        let phone = try PhoneUnderTest(service)
        let task = Task { await phone.cycle() }
        task.cancel()
        let result = await task.value
        #expect(result.failure == .cancelled)
        #expect(await phone.cycle(.push).failure == nil)
    }

    @Test(
        "a head is believed only with the witnesses' proof",
        .enabled(if: WitnessUnderTest.hasPython, "needs Python's cryptography"))
    func witnesses() async throws {
        let feed = try await WitnessedFeed()
        let policy = try String(contentsOfFile: feed.policy, encoding: .utf8)
        let phone = try PhoneUnderTest(feed: feed.site.url, key: feed.site.key, witnesses: policy)
        try await feed.publish(phone.device.pushText)
        #expect(await phone.cycle().matches.count == 1)
        try await feed.publish(witnessed: false)
        let refused = await phone.cycle()
        guard case .unwitnessed = refused.failure else {
            throw TestFailure("believed: \(refused)")
        }
        #expect(try await phone.client.status().sequence == 1)
        try await feed.publish()
        #expect(await phone.cycle().failure == nil)
        #expect(try await phone.client.status().sequence == 3)
        #expect(throws: PhoneError.configuration(.witnesses)) {
            _ = try PhoneUnderTest(feed: feed.site.url, key: feed.site.key, witnesses: "quorum x")
        }
    }

    @Test("what is withheld is asked for again; another history stops it, and both halves are kept")
    func histories() async throws {
        let site = try await FeedSite()
        let phone = try PhoneUnderTest(feed: site.url, key: site.key)
        try await site.publish(phone.device.pushText, note: "first")
        let copy = try site.copy()
        try await site.publish(phone.device.pushText, note: "second")
        site.answer {
            $0.hasPrefix("b/00000000000000000001") ? .wire(Self.gone, ends: true) : .file
        }
        let partial = await phone.cycle()
        #expect(partial.matches.map(\.note) == ["second"] && partial.failure == .missingBatch)
        #expect(try await phone.client.status().unchecked == [1])
        site.answer { _ in .file }
        #expect(await phone.cycle().matches.compactMap(\.note).sorted() == ["first", "second"])
        try site.replace(with: copy)
        #expect(await phone.cycle().failure == .rollback)
        try await site.publish()
        #expect(await phone.cycle().failure == .fork)
        let status = try await phone.client.status()
        #expect(status.isForked && status.warnings == [.fork(sequence: 2)])
        let names = try FileManager.default.contentsOfDirectory(
            atPath: phone.directory.path + "/state")
        #expect(names.count { $0.hasPrefix("evidence-") } == 2, "\(names)")
        try await phone.client.startOver()
        #expect(await phone.cycle().failure == nil)
    }

    private static let gone = Array("HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n".utf8)

    @Test("an app that is killed at any moment of its cycle finds everything, and tells it once")
    func kills() async throws {
        let service = try await ServiceUnderTest()
        let directory = try TemporaryDirectory()
        let device = TestDevice()
        let notes = (1...10).map { "note \($0)" }
        let words = [
            directory.path + "/state", service.url + "/feed/", service.feedKey, service.url,
            device.pushText,
        ]
        var random = SplitMix64(seed: 4711)
        var (told, settled): (Set<String>, Set<String>) = ([], [])
        func read(_ app: RunningProgram) {
            for line in app.output.split(separator: "\n") {
                let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
                guard parts.count > 1 else { continue }
                if parts[0] == "match" {
                    #expect(!settled.contains(parts[1]), "acknowledged, and told again")
                    told.insert(parts[1])
                }
                if parts[0] == "acknowledged" { settled.insert(parts[1]) }
            }
        }
        for note in notes {
            _ = try await service.publish([device.pushText], notes: [note], "--again")
            let app = try RunningProgram("phone-worker", words)
            _ = try await app.line(containing: "began")
            app.signal(SIGKILL, after: .milliseconds(Int.random(in: 0...2600, using: &random)))
            _ = await app.exit()
            read(app)
        }
        let last = try RunningProgram("phone-worker", words)
        #expect(await last.exit() == 0 && last.output.contains("ended -"), "\(last.output)")
        read(last)
        #expect(told.count == notes.count && settled == told)
        #expect(try service.rows() == 1)
        let quiet = try RunningProgram("phone-worker", words)
        #expect(await quiet.exit() == 0 && !quiet.output.contains("match"), "\(quiet.output)")
    }
}
