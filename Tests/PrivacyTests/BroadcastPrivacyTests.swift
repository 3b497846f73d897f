import Foundation
import TestSupport
import Testing

/// What broadcasts to a push service leave behind: nothing but the provider token, in its own file.
@Suite(
    "What broadcasts keep and say", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct BroadcastPrivacyTests {
    /// Everything that may not be said: of the devices, and of the way to the push service.
    private static func needles(
        _ place: PushingService, _ devices: [TestDevice], _ kept: Data
    ) throws -> [[UInt8]] {
        let text = String(decoding: kept, as: UTF8.self)
        let mark = try #require(text.range(of: #""token":""#))
        let token = String(text[mark.upperBound...].prefix { $0 != "\"" })
        // Header, claims and signature, alone and together.
        let parts = token.split(separator: ".").map { Array($0.utf8) }
        #expect(parts.count == 3)
        let key = String(decoding: try place.pair.privatePEM, as: UTF8.self)
            .split(separator: "\n").filter { !$0.contains("-----") }.map { Array($0.utf8) }
        let ways = ["localhost", "127.0.0.1", ":\(place.mock.port)", "/3/device", "https://"]
        return devices.flatMap(\.forms) + [Array(token.utf8)] + parts + key
            + ways.map { Array($0.utf8) }
    }

    @Test("no token, key, host or path reaches a log, a metric, a status or a terminal")
    func said() async throws {
        let place = try await PushingService(
            .init(
                "--answer-token", "dead:410:Unregistered", "--answer-token",
                "beef:400:BadDeviceToken", "--answer-token", "f00d:410",
                "--answer", "9:429:TooManyRequests", "--goaway-every", "40"))
        let devices =
            (0..<40).map { _ in TestDevice(pushPrefix: [0, 0]) }
            + [[0xDE, 0xAD], [0xBE, 0xEF], [0xF0, 0x0D]].map { TestDevice(pushPrefix: $0) }
        try place.register(devices)
        var said: [String] = []
        for _ in 0..<2 {
            let (status, output) = try await place.broadcast()
            #expect(status == 0, "\(output)")
            said.append(output)
        }
        for words in [["status"], ["status", "--json"]] {
            said.append(
                try await RunningProgram.run(
                    "reveille", words + ["--config", place.service.configuration]
                ).output)
        }
        for path in ["/metrics", "/v1/status", "/v1/broadcast", "/v1/plan", "/health"] {
            let client = try LoopbackClient(
                path: place.service.directory.path + "/service/admin.sock")
            said.append(try client.exchange("GET", path).text)
        }
        let kept = try #require(try place.service.files()["data/apns-token"])
        #expect(await place.service.stop() == 0)
        said.append(place.service.program.output)

        let all = Data(said.joined(separator: "\n").utf8)
        // The controls: the log is at debug, and every sort of answer was there.
        #expect(all.range(of: Data("store-opened ms=".utf8)) != nil)
        #expect(all.range(of: Data("accepted=40 gone=2 deleted=2".utf8)) != nil)
        let needles = try Self.needles(place, devices, kept)
        for (index, needle) in needles.enumerated() {
            #expect(all.range(of: Data(needle)) == nil, "needle \(index)")
        }
    }

    @Test("a gateway that fails says what to fix in words of ours alone")
    func failed() async throws {
        let faults: [(inout PushingService.Choices) -> Void] = [
            { $0.isKeyForeign = true }, { $0.isAuthorityForeign = true },
            { $0.flags = ["--answer-all", "404:PlantedReason"] },
        ]
        for fault in faults {
            var choices = PushingService.Choices()
            fault(&choices)
            let place = try await PushingService(choices)
            let devices = (0..<20).map { _ in TestDevice() }
            try place.register(devices)
            let (status, output) = try await place.broadcast()
            #expect(status == 1)
            let kept = try #require(try place.service.files()["data/apns-token"])
            #expect(await place.service.stop() == 0)
            let all = Data((output + place.service.program.output).utf8)
            #expect(all.range(of: Data("gateway-stopped service=apns reason=".utf8)) != nil)
            let needles = try Self.needles(place, devices, kept) + [Array("Planted".utf8)]
            for (index, needle) in needles.enumerated() {
                #expect(all.range(of: Data(needle)) == nil, "needle \(index)")
            }
        }
    }

    @Test("of all files, only data/apns-token holds the provider token, and none a push token")
    func files() async throws {
        let place = try await PushingService(.init("--answer-token", "dead:410:Unregistered"))
        let kept = (0..<20).map { _ in TestDevice(pushPrefix: [0, 0]) }
        let gone = [TestDevice(pushPrefix: [0xDE, 0xAD])]
        try place.register(kept + gone)
        for run in 0..<2 {
            if run > 0 {
                #expect(await place.service.stop() == 0)
                try await place.service.restart()
            }
            #expect(try await place.broadcast().status == 0)
            let files = try place.service.files()
            let token = try #require(files["data/apns-token"])
            let text = String(decoding: token, as: UTF8.self)
            let mark = try #require(text.range(of: #""token":""#))
            let secret = Array(text[mark.upperBound...].prefix { $0 != "\"" }.utf8)
            #expect(try place.service.files(containing: [secret]) == ["data/apns-token"])
            #expect(StorePlace.mode(of: place.service.data + "/apns-token") == 0o600)
            #expect(
                try place.service.files(containing: (kept.prefix(2) + gone).flatMap(\.forms)) == [])
            // No other file is made by broadcasts.
            let names = files.keys.filter { $0.hasPrefix("data/") }.sorted()
            #expect(
                Set(names).isSubset(of: [
                    "data/apns-token", "data/broadcast", "data/checkpoint", "data/lock",
                    "data/generation-0.db", "data/generation-0.db-wal", "data/generation-1.db",
                    "data/generation-1.db-wal", "data/reserve", "data/rotation",
                ]), "\(names)")
        }
        #expect(await place.service.stop() == 0)
        try await Self.audit(place.service)
    }

    /// Every file beside the database has the form that the policy declares.
    private static func audit(_ service: ServiceUnderTest) async throws {
        let audit = try await RunningProgram.run(
            "reveille", ["audit", service.data])
        #expect(audit.status == 0, "\(audit.output)")
    }

    @Test("no file of the service holds a time of day, but those that PRIVACY.md names")
    func timesOfDay() async throws {
        let start = Int(Date().timeIntervalSince1970)
        let held = try HeldAnswers(allowing: 100)
        let place = try await PushingService(.init(held))
        try place.register((0..<400).map { _ in TestDevice() })
        try await place.startRound()
        try await place.progress { $0.accepted >= 50 }
        var files = try place.service.files()
        #expect(files["data/checkpoint"] != nil)
        #expect(try await place.stop(releasing: held) == 0)
        // With the checkpoint of the broadcast that goes on after the next start.
        try await Self.audit(place.service)
        for (name, bytes) in try place.service.files() { files[name, default: Data()] += bytes }
        let times = start...Int(Date().timeIntervalSince1970)
        let found = files.keys.filter { name in
            (name.hasPrefix("data/") || name.hasPrefix("keys/"))
                && Self.holds(times, files[name] ?? Data(), isLarge: name.contains(".db"))
        }
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let statement = try String(
            contentsOf: root.appending(path: "Policy/PRIVACY.md"), encoding: .utf8)
        let sentence = try #require(statement.firstMatch(of: /hold a time of day: ([^,]*),/)).1
        let named = sentence.matches(of: /`([a-z-]+)`/).map { "data/\($0.1)" }
        #expect(Set(found) == Set(named))
    }

    /// Whether bytes contain one of these seconds since 1970: in decimal digits, or as an integer
    /// of 8 bytes, or of 4 where there are too few random bytes for one by chance.
    private static func holds(_ times: ClosedRange<Int>, _ data: Data, isLarge: Bool) -> Bool {
        times.contains { time in
            let wide = Data((0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) })
            let narrow = isLarge ? [] : [wide.suffix(4), Data(wide.suffix(4).reversed())]
            return ([Data("\(time)".utf8), wide, Data(wide.reversed())] + narrow).contains {
                data.range(of: $0) != nil
            }
        }
    }
}
