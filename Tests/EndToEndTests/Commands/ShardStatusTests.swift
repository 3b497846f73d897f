import Foundation
import TestSupport
import Testing

/// `reveille status --shard` with real services, on Unix sockets and on TCP.
@Suite("The status of several services", .timeLimit(.minutes(5)))
struct ShardStatusTests {
    private func socket(_ service: ServiceUnderTest) -> String {
        "unix:" + service.directory.path + "/service/admin.sock"
    }

    private func register(_ count: Int, _ service: ServiceUnderTest) throws {
        let client = try LoopbackClient(port: service.port)
        for _ in 0..<count {
            let device = TestDevice()
            let put = try client.exchange(
                "PUT", "/v1/registration", token: device.token, body: device.body)
            #expect(put.status == 204)
        }
    }

    /// A service whose admin listener is on TCP: its URL, and the file of its token.
    private func onTCP(
        _ service: ServiceUnderTest
    ) async throws -> (url: String, token: String, WireServer) {
        #expect(await service.stop() == 0)
        let reserved = try WireServer.reservedPort()
        let token = service.directory.path + "/service/keys/admin.token"
        let made = try await RunningProgram.run("reveille", ["keygen", "--kind", "admin", token])
        #expect(made.status == 0, "\(made.output)")
        let text = try String(contentsOfFile: service.configuration, encoding: .utf8).replacing(
            "listen = unix:admin.sock",
            with: "listen = 127.0.0.1:\(reserved.port)\ntoken = keys/admin.token")
        try text.write(toFile: service.configuration, atomically: true, encoding: .utf8)
        try await service.restart()
        return ("http://127.0.0.1:\(reserved.port)", token, reserved)
    }

    private func status(_ words: [String]) async throws -> (status: Int32, output: String) {
        try await RunningProgram.run("reveille", ["status"] + words)
    }

    private func object(_ output: String) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(output.utf8))
        return try #require(value as? [String: Any])
    }

    @Test("adds up three, names the trouble of each, and says which does not answer")
    func three() async throws {
        let services = [
            try await ServiceUnderTest(), try await ServiceUnderTest(),
            try await ServiceUnderTest(),
        ]
        for (index, service) in services.enumerated() { try register(10 * (index + 1), service) }
        let (url, token, _) = try await onTCP(services[2])
        let words =
            ["--shard", socket(services[0]), "--shard=" + socket(services[1])]
            + ["--shard", url, "--token", token]
        let well = try await status(words)
        #expect(well.status == 0, "\(well.output)")
        #expect(well.output.contains("shards         3 of 3 answer\n"), "\(well.output)")
        #expect(well.output.contains("health         ok, up 0:00:"), "\(well.output)")
        #expect(well.output.contains("registrations  60 of this generation"), "\(well.output)")
        for line in ["shard 1: 10 regis", "shard 2: 20 regis", "shard 3: 30 regis"] {
            #expect(well.output.contains("\n" + line), "\(well.output)")
        }

        try FileManager.default.removeItem(
            atPath: services[1].directory.path + "/service/feed/head")
        let trouble = try await status(words)
        #expect(trouble.status == 0)
        #expect(
            trouble.output.contains("\nshard 2: problem: feed-unreadable: "), "\(trouble.output)")
        #expect(trouble.output.contains("health         see below"), "\(trouble.output)")

        await services[0].kill()
        let lost = try await status(words)
        #expect(lost.status == 75, "\(lost.output)")
        #expect(lost.output.contains("shards         2 of 3 answer\n"), "\(lost.output)")
        #expect(lost.output.contains("registrations  50 of this"), "\(lost.output)")
        #expect(lost.output.contains("\nshard 1: does not answer: "), "\(lost.output)")

        let json = try await status(words + ["--json"])
        #expect(json.status == 75)
        let sums = try object(json.output)
        #expect(sums["shards"] as? Int == 3 && sums["answering"] as? Int == 2)
        let total = try #require(sums["total"] as? [String: Int])
        #expect(total["registrations_current"] == 50 && total["trouble_feed-unreadable"] == 1)
        let each = try #require(sums["each"] as? [[String: Any]])
        #expect(each.map { $0["shard"] as? Int } == [1, 2, 3])
        #expect(each.map { $0["answers"] as? Bool } == [false, true, true])
        let last = try #require(each[2]["status"] as? [String: Int])
        #expect(last["registrations_current"] == 30)
        let all = try await status(words + ["--all"])
        #expect(all.output.contains(/registrations_current +50\n/), "\(all.output)")
    }

    @Test("a token is given once for all, or once for each; a wrong one is told of its shard")
    func tokens() async throws {
        let services = [try await ServiceUnderTest(), try await ServiceUnderTest()]
        let first = try await onTCP(services[0])
        let second = try await onTCP(services[1])
        let shards = ["--shard", first.url, "--shard", second.url + "/"]
        let each = try await status(shards + ["--token", first.token, "--token", second.token])
        #expect(each.status == 0, "\(each.output)")
        let swapped = try await status(shards + ["--token", second.token, "--token", first.token])
        #expect(swapped.status == 75)
        #expect(
            swapped.output.contains("shard 2: does not answer: the service knows another token"),
            "\(swapped.output)")
        let one = try await status(shards + ["--token", first.token])
        #expect(one.status == 75 && one.output.contains("1 of 2 answer"), "\(one.output)")
        let none = try await status(shards)
        #expect(none.status == 75 && none.output.contains("0 of 2 answer"), "\(none.output)")
        for service in services { #expect(await service.stop() == 0) }
    }

    @Test("what is no shard, and a token that would cross a network, are refused")
    func usage() async throws {
        for (words, message) in [
            (["--shard", "/run/admin.sock"], "takes unix:PATH"),
            (["--shard", "https://127.0.0.1:1"], "takes unix:PATH"),
            (["--shard", "http://127.0.0.1"], "takes unix:PATH"),
            (["--shard", "http://192.0.2.1:8081"], "ssh -L"),
            (["--token", "file"], "--token is for --shard"),
            (["--shard", "unix:a", "--config", "file"], "leave out --config"),
            (
                ["--shard", "http://127.0.0.1:1", "--token", "a", "--token", "b"],
                "--token is given once"
            ),
        ] {
            let answer = try await status(words)
            #expect(answer.status == 2 && answer.output.contains(message), "\(answer.output)")
        }
    }
}
