import Foundation
import TestSupport
import Testing

@Suite("The health of a running service", .timeLimit(.minutes(5)))
struct HealthTests {
    private func health(_ service: ServiceUnderTest) throws -> (Int, String) {
        let client = try LoopbackClient(path: service.directory.path + "/service/admin.sock")
        try client.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let response = try client.receiveResponse()
        return (response.status, response.text)
    }

    @Test("is ok at first, and again once what was wrong is mended; only the operator sees it")
    func mended() async throws {
        let service = try await ServiceUnderTest()
        #expect(try health(service) == (200, "ok\n"))
        #expect(try await service.command("status").output.contains("health         ok, up 0:00:"))
        let head = service.directory.path + "/service/feed/head"
        let kept = try Data(contentsOf: URL(filePath: head))
        try FileManager.default.removeItem(atPath: head)
        #expect(try health(service) == (503, "feed-unreadable\n"))
        #expect(try service.send("GET", "/health").text == "ok\n")
        let status = try await service.command("status")
        #expect(status.output.contains("problem: feed-unreadable: "), "\(status.output)")
        let all = try await service.command("status", "--all")
        #expect(all.output.contains("trouble_feed-unreadable") && all.output.hasSuffix("\n"))
        _ = try await service.program.line(containing: "trouble kind=feed-unreadable")
        try kept.write(to: URL(filePath: head))
        #expect(try health(service) == (200, "ok\n"))
    }

    @Test(
        "says that the feed is not refreshed, and then that it has expired",
        .enabled(if: FakeTime.isInstalled, "needs faketime"),
        arguments: [("-4d", "feed-not-refreshed"), ("-8d", "feed-expired")])
    func expired(offset: String, trouble: String) async throws {
        let service = try await ServiceUnderTest()
        let feed = service.directory.path + "/service/feed"
        try FileManager.default.removeItem(atPath: feed)
        let made = try await FakeTime.service(
            offset, "feed", "init", feed, "--key",
            service.directory.path + "/service/keys/feed.key")
        #expect(made.status == 0, "\(made.output)")
        #expect(try health(service) == (503, trouble + "\n"))
        #expect(try await service.command("status").output.contains("problem: \(trouble)"))
    }
}
