private import Foundation
private import Glibc
import TestSupport
import WakeModel
import WakeStore
import WakeSystem

/// Broadcasts end to end, for each gateway, and registrations beside one.
enum BroadcastRows {
    static let all: [Benchmark] = [
        row(.apns, "a registration in a broadcast to APNs", 200_000, full: 1_000_000),
        row(.fcm, "the same to FCM", 100_000, full: 500_000),
        row(.webPush, "the same to Web Push, 50 hosts", 5_000, full: 20_000),
        row(.relay, "the same through a relay", 50_000, full: 200_000),
        beside,
    ]

    private static func row(
        _ gateway: BroadcastPlace.Gateway, _ operation: String, _ small: Int, full: Int
    ) -> Benchmark {
        Benchmark(
            "broadcast-\(gateway.rawValue)", operation, unit: "registrations",
            sizes: Sizes(small, full: full, growth: small / 100), by: .processorTime
        ) { setting in
            let place = try await BroadcastPlace(gateway)
            try await place.fill(setting.size)
            let count = setting.size
            // The service has locked its own.
            let copy = StorePlace(in: setting.directory)
            try place.files.copy(to: .init(in: copy.path))
            var line: (peer: FarEnd, workshop: PushWorkshop)?
            // Through the engine; what goes out by libcurl has no such line.
            if gateway == .apns || gateway == .fcm {
                let workshop = try PushRows.workshop(setting)
                guard let peer = FarEnd(.answerer(latency: 0, streams: 1000), workshop) else {
                    throw BenchFailure("the far end does not start")
                }
                line = (peer, workshop)
            }
            let words = "reading the pages, opening the boxes"
            return [
                Arm(.ours, "service") { _ in try await place.broadcast(count) },
                Arm(
                    .ceiling, line == nil ? words : words + ", and the pushes' bytes through TLS"
                ) { _ in
                    var sum = try Unavoidable.read(copy, count)
                    sum = sum + (try Unavoidable.open(count))
                    guard let (peer, workshop) = line else { return sum }
                    return sum
                        + (try Measurement(
                            reportOf: [
                                CommandLine.arguments[0], "push-bytes", "--port", "\(peer.port)",
                                "--authority", workshop.certificate, "--key",
                                workshop.signingKey, "--token-file", workshop.providerToken,
                                "--gateway", gateway.rawValue, "--pushes", "\(count)",
                            ]))
                },
                Arm(.part, "reading and opening, the store") { _ in
                    try await Unavoidable.storePages(copy, count)
                },
            ]
        }
    }

    /// The same load on the same service: while everybody is woken, and at rest.
    private static let beside = Benchmark(
        "registrations-broadcast-64",
        "a new registration over HTTP, 64 connections, during a broadcast of 10,000 pushes/s",
        sizes: Sizes(30_000, growth: nil), by: .rate
    ) { setting in
        let place = try await BroadcastPlace(.apns, budget: 12_000)
        try await place.fill(12_000 * 15)
        return [
            Arm(.ours, "service") { _ in
                try await place.startBroadcast()
                let measured = try place.load(setting.size)
                guard try place.isRunning() else {
                    throw BenchFailure("the broadcast ended first")
                }
                try await place.endBroadcast()
                return measured
            },
            Arm(.ceiling, "the same at rest") { _ in try place.load(setting.size) },
        ]
    }
}

/// A service with one gateway that leads to a mock over TLS.
final class BroadcastPlace {
    enum Gateway: String, Sendable {
        case apns, fcm, webPush = "webpush", relay
    }

    private let gateway: Gateway
    private let service: ServiceUnderTest
    private let budget: Int
    /// The mock, and the keys and certificates around it.
    private let rest: [Any]

    var files: FilledStores.Files { .init(in: service.directory.path + "/service") }

    /// - Parameter budget: fetches a second; 0: as fast as it can.
    init(_ gateway: Gateway, budget: Int = 0) async throws {
        self.gateway = gateway
        let (section, rest) = try await Self.section(of: gateway)
        self.rest = rest
        service = try await ServiceUnderTest(
            sections: """

                \(section)
                [broadcast]
                heartbeat = off

                """, serving: .nothing)
        self.budget = budget
    }

    private static func section(of gateway: Gateway) async throws -> (String, [Any]) {
        switch gateway {
        case .apns:
            let (section, rest) = try await apns()
            return (section, rest)
        case .fcm:
            let mock = try await MockFCM()
            return (mock.section, [mock])
        case .webPush:
            let mock = try await MockWebPush()
            return (mock.section, [mock])
        case .relay:
            return try await relay()
        }
    }

    /// APNs over TLS.
    private static func apns() async throws -> (section: String, rest: [Any]) {
        let (authority, pair) = (try TestAuthority(), try SigningKeyPair())
        let shown = try authority.issue(for: "localhost")
        let mock = try await MockPush([
            "--certificate", shown.certificate, "--key", shown.key, "--public-key",
            pair.publicPath, "--key-id", "ABC123DEFG", "--team-id", "TEAM123456", "--topic",
            "org.example.app",
        ])
        let section = pair.section(
            "host = localhost", "port = \(mock.port)", "ca = \(authority.certificate)")
        return (section, [authority, pair, mock])
    }

    /// A second service that is the relay, with APNs behind it.
    private static func relay() async throws -> (section: String, rest: [Any]) {
        let keys = try TemporaryDirectory()
        let path = keys.path + "/relay.key"
        // RFC 8032 §7.1, TEST 1.
        try "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\n".write(
            toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let (section, rest) = try await apns()
        let place = try WireServer.reservedPort()
        let owner = try await ServiceUnderTest(
            listen: "127.0.0.1:\(place.port)",
            sections: """
                \(section)
                [broadcast]
                heartbeat = off
                [relay]
                authority = 127.0.0.1:\(place.port)
                wakes-per-minute = 10000000

                """, serving: .nothing)
        let (status, output) = try await owner.command(
            "relay", "allow", "village", "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
        guard status == 0 else { throw BenchFailure(output) }
        return (
            "[apns]\nvia = http://127.0.0.1:\(place.port)\nvia-key = \(path)\n"
                + "via-per-minute = 60000000\n",
            rest + [keys, place, owner]
        )
    }

    func fill(_ rows: Int) async throws {
        guard await service.stop() == 0 else { throw BenchFailure("the service did not stop") }
        try await FilledStores.fill(files, rows: rows, token: Self.token(for: gateway))
        var text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        text = text.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix("fetches-per-second =") }.joined(separator: "\n")
        text += "\n[broadcast]\nfetches-per-second = \(budget)\n"
        try text.write(toFile: service.configuration, atomically: true, encoding: .utf8)
        if budget > 0 {
            // Without a head clients do not spread their fetches, and the pushes themselves leave
            // no faster than the budget.
            try FileManager.default.removeItem(
                atPath: service.directory.path + "/service/feed/head")
        }
        try await service.restart()
    }

    private static func token(for gateway: Gateway) -> @Sendable (Int) -> PushToken? {
        switch gateway {
        case .apns, .relay: FilledStores.numbered
        case .fcm:
            {
                let text = "fGk3:" + String(repeating: "a", count: 130) + "\($0)"
                return try? PushToken(service: .fcm, bytes: Array(text.utf8))
            }
        case .webPush:
            {
                let endpoint = MockWebPush.endpoint($0, host: $0 % 50)
                return try? PushToken(service: .webPush, bytes: Array(endpoint.utf8))
            }
        }
    }

    // MARK: A broadcast

    func broadcast(_ rows: Int) async throws -> Measurement {
        let process = Int(service.program.identifier)
        guard let before = Stopwatch.processorSeconds(of: process) else {
            throw BenchFailure("no figures of the service")
        }
        let watch = Stopwatch()
        let (status, output) = try await service.command("broadcast", "--force")
        let seconds = watch.seconds
        guard status == 0, output.contains("\(rows) accepted"),
            let after = Stopwatch.processorSeconds(of: process)
        else { throw BenchFailure(output) }
        var measured = Measurement(
            operations: rows, seconds: seconds, processorSeconds: after - before)
        measured.memory = ProcessStatus(of: process)?.peak
        try await forget()
        return measured
    }

    func startBroadcast() async throws {
        let (status, output) = try await service.command("broadcast", "--force", "--no-wait")
        guard status == 0 else { throw BenchFailure(output) }
        while try progress("accepted") == 0 { poll(nil, 0, 10) }
    }

    func endBroadcast() async throws {
        _ = try await service.command("broadcast", "--stop")
        while try isRunning() { poll(nil, 0, 10) }
        try await forget()
    }

    /// Gives the hour back that a broadcast took.
    private func forget() async throws {
        guard await service.stop() == 0 else { throw BenchFailure("the service did not stop") }
        try FileManager.default.removeItem(atPath: service.data + "/broadcast")
        try await service.restart()
    }

    func isRunning() throws -> Bool { try report()["running"] as? Bool ?? false }

    private func progress(_ name: String) throws -> Int { try report()[name] as? Int ?? 0 }

    private func report() throws -> [String: Any] {
        let client = try LoopbackClient(path: service.directory.path + "/service/admin.sock")
        let answer = try client.exchange("GET", "/v1/broadcast")
        return try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any] ?? [:]
    }

    /// New registrations, 64 at a time.
    func load(_ operations: Int) throws -> Measurement {
        try HTTPLoad.run(
            .loopback(port: service.port), connections: 64, operations: operations,
            process: Int(service.program.identifier))
    }
}

/// What a broadcast cannot do without.
private enum Unavoidable {
    /// All rows with SQLite alone, page by page into one buffer.
    static func read(_ place: StorePlace, _ rows: Int) throws -> Measurement {
        let files = FilledStores.Files(in: place.path)
        let databases = try files.databases.map { try Database(path: $0, access: .readOnly) }
        let watch = Stopwatch()
        let start = Stopwatch.threadSeconds
        var count = 0
        var bytes: [UInt8] = []
        for database in databases {
            let page = try database.prepare(
                "SELECT id,sealed FROM registration WHERE id>?1 ORDER BY id LIMIT ?2")
            var last: [UInt8] = []
            while true {
                try page.bind(1, blob: last.span)
                try page.bind(2, integer: Int64(Limits.scanRows))
                bytes.removeAll(keepingCapacity: true)
                var found = 0
                while try page.step() {
                    page.append(0, to: &bytes)
                    page.append(1, to: &bytes)
                    found += 1
                }
                page.reset()
                guard found > 0 else { break }
                count += found
                let start = (found - 1) * (Limits.idBytes + Limits.sealedBytes)
                last = Array(bytes[start..<start + Limits.idBytes])
            }
        }
        guard count >= rows else { throw BenchFailure("\(count) rows") }
        return Measurement(
            operations: rows, seconds: watch.seconds,
            processorSeconds: Stopwatch.threadSeconds - start)
    }

    /// As many boxes of a row's size.
    static func open(_ rows: Int) throws -> Measurement {
        let key = KeyMemory.random()
        let associated = Sodium.random(33)
        let plaintext = [UInt8](repeating: 0, count: Limits.plaintextBytes)
        let sealed = SealedBox.seal(plaintext.span, associated: associated.span, key: key)
        var memory = plaintext
        var opened = 0
        let watch = Stopwatch()
        let start = Stopwatch.threadSeconds
        for _ in 0..<rows {
            var output = memory.mutableSpan
            if SealedBox.open(
                sealed.span, associated: associated.span, key: key, into: &output)
            {
                opened += 1
            }
        }
        guard opened == rows else { throw BenchFailure("\(opened) opened") }
        return Measurement(
            operations: rows, seconds: watch.seconds,
            processorSeconds: Stopwatch.threadSeconds - start)
    }

    /// Both, as the store does them for a broadcast.
    static func storePages(_ place: StorePlace, _ rows: Int) async throws -> Measurement {
        let store = try Store(opening: FilledStores.Files(in: place.path).configuration)
        var count = 0
        let watch = Stopwatch()
        for generation in [Generation.previous, .current] {
            var last: [UInt8]? = []
            while let after = last {
                guard
                    let page = await store.page(
                        of: generation, after: after, limit: Limits.scanRows)
                else { throw BenchFailure("the store cannot be read") }
                count += page.rows.count
                last = page.last
            }
        }
        let measurement = Measurement(
            operations: rows, seconds: watch.seconds, processorSeconds: watch.processorSeconds)
        await store.close()
        guard count >= rows else { throw BenchFailure("\(count) rows") }
        return measurement
    }
}
